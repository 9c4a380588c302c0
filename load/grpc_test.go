package load

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"google.golang.org/protobuf/proto"

	"github.com/gatemark/gatemark/marker"
)

// answerGRPC takes a string and answers it, or fails as it says.
func answerGRPC(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	in := &wrapperspb.StringValue{}
	if err := decode(in); err != nil {
		return nil, err
	}
	if err := grpc.SetHeader(ctx, metadata.Pairs("gatemark-route", "r", "gatemark-generation", "3")); err != nil {
		return nil, err
	}
	switch in.Value {
	case "missing":
		return nil, status.Error(codes.NotFound, "is missing")
	case "headed":
		if err := grpc.SendHeader(ctx, nil); err != nil {
			return nil, err
		}
		return nil, status.Error(codes.DataLoss, "is lost")
	}
	return in, nil
}

func TestGRPCAgainstServer(t *testing.T) {
	l := listen(t)
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: answerGRPC}},
	}, nil)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	call := func(method, text string) *Request {
		body, err := proto.Marshal(wrapperspb.String(text))
		if err != nil {
			t.Fatal(err)
		}
		return post("/test.Echo/"+method, string(body))
	}
	long := call("Say", strings.Repeat("x", 500_000))
	mark := marker.Marker{Route: "r", Generation: 3}
	var requests []*Request
	var want []outcome
	for range 20 {
		for _, c := range []struct {
			request *Request
			want    outcome
		}{
			{call("Say", "hello"), outcome{0, OK, 200, 0, 7, -1, mark}},
			{call("Say", ""), outcome{0, OK, 200, 0, 0, -1, mark}},
			{long, outcome{0, OK, 200, 0, int64(len(long.body)), -1, mark}},
			{call("Say", "missing"), outcome{0, GRPCStatus, 200, int(codes.NotFound), 0, -1, mark}},
			{call("Say", "headed"), outcome{0, GRPCStatus, 200, int(codes.DataLoss), 0, -1, mark}},
			{call("Shout", "hello"), outcome{0, GRPCStatus, 200, int(codes.Unimplemented), 0, -1, marker.Marker{}}},
		} {
			requests = append(requests, c.request)
			c.want.Number = uint64(len(requests))
			want = append(want, c.want)
		}
	}
	w := newWitness(t)
	converse(t, l.Addr(), newGRPC(w, 10), w, requests)
	slices.SortFunc(w.ended, byNumber)
	w.want(t, want...)
}

func TestGRPCAnswers(t *testing.T) {
	ok := []string{"grpc-status", "0"}
	for name, c := range map[string]struct {
		head    []string
		data    string
		trailer []string
		want    outcome
	}{
		"message":           {nil, "\x00\x00\x00\x00\x02ab", ok, outcome{1, OK, 200, 0, 2, -1, marker.Marker{}}},
		"empty message":     {nil, "\x00\x00\x00\x00\x00", ok, outcome{1, OK, 200, 0, 0, -1, marker.Marker{}}},
		"error and message": {nil, "\x00\x00\x00\x00\x01a", []string{"grpc-status", "13"}, outcome{1, GRPCStatus, 200, 13, 1, -1, marker.Marker{}}},
		"no message":        {nil, "", ok, outcome{Number: 1, Class: Malformed}},
		"two messages":      {nil, "\x00\x00\x00\x00\x01a\x00\x00\x00\x00\x01a", ok, outcome{Number: 1, Class: Malformed}},
		"half a message":    {nil, "\x00\x00\x00\x00\x02a", []string{"grpc-status", "13"}, outcome{Number: 1, Class: Malformed}},
		"half a prefix":     {nil, "\x00\x00", []string{"grpc-status", "13"}, outcome{Number: 1, Class: Malformed}},
		"compressed":        {nil, "\x01\x00\x00\x00\x01a", ok, outcome{Number: 1, Class: Malformed}},
		"no status":         {nil, "\x00\x00\x00\x00\x01a", []string{"other", "x"}, outcome{Number: 1, Class: Malformed}},
		"no trailers":       {nil, "\x00\x00\x00\x00\x01a", nil, outcome{Number: 1, Class: Malformed}},
		"status in letters": {nil, "\x00\x00\x00\x00\x01a", []string{"grpc-status", "OK"}, outcome{Number: 1, Class: Malformed}},
		"status at first":   {ok, "\x00\x00\x00\x00\x01a", []string{"other", "x"}, outcome{Number: 1, Class: Malformed}},
	} {
		t.Run(name, func(t *testing.T) {
			for cut := range len(c.data) + 1 {
				s := sit(t, 1, true).settle()
				x := s.request(post("/", "x"))
				server := newScript()
				server.head(x.stream, false, append([]string{":status", "200"}, c.head...)...)
				_ = server.WriteData(x.stream, false, []byte(c.data[:cut]))
				_ = server.WriteData(x.stream, c.trailer == nil, []byte(c.data[cut:]))
				if c.trailer != nil {
					server.head(x.stream, true, c.trailer...)
				}
				if err := s.hear(server.Bytes()); err != nil {
					t.Fatal(err)
				}
				s.want(t, c.want)
			}
		})
	}
}

// TestGRPCFromElsewhere has a proxy answer, which knows nothing of gRPC.
func TestGRPCFromElsewhere(t *testing.T) {
	s := sit(t, 1, true).settle()
	s.request(post("/", "x"))
	server := newScript()
	server.head(1, false, ":status", "503", "content-length", "4")
	_ = server.WriteData(1, true, []byte("down"))
	if err := s.hear(server.Bytes()); err != nil {
		t.Fatal(err)
	}
	s.want(t, outcome{1, Status5xx, 503, -1, 4, -1, marker.Marker{}})
}

// TestGRPCRequest reads calls back with x/net.
func TestGRPCRequest(t *testing.T) {
	s := sit(t, 1, true).settle()
	s.frames()
	s.request(post("/test.Echo/Say", "x"))
	got := fmt.Sprint(s.frames())
	want := "[{HEADERS 1 [:scheme: http :method: POST :authority: example.test :path: /test.Echo/Say " +
		"content-type: application/grpc te: trailers] 0 false 0} {DATA 1 [] 6 true 0}]"
	if got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}
