package echo

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/gatemark/gatemark/echo/fault"
	"github.com/gatemark/gatemark/marker"
)

func dialGRPC(t *testing.T, s *Server) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+s.Address().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func invoke(ctx context.Context, conn *grpc.ClientConn, sent []byte, header *metadata.MD, options ...grpc.CallOption) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var got wrapperspb.BytesValue
	options = append(options, grpc.Header(header))
	err := conn.Invoke(ctx, "/any.Service/Method", wrapperspb.Bytes(sent), &got, options...)
	return got.GetValue(), err
}

func TestGRPCEchoes(t *testing.T) {
	s, _ := serve(t, Options{})
	conn := dialGRPC(t, s)
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), marker.RouteHeader, "ns/r", marker.GenerationHeader, "3", marker.DelayHeader, "2ms")
	for _, size := range []int{0, 1, 5000, 300_000} {
		for _, options := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
			var header metadata.MD
			got, err := invoke(ctx, conn, page[:min(size, len(page))], &header, options...)
			if err != nil || len(got) != min(size, len(page)) {
				t.Errorf("size %d: %d bytes back, %v", size, len(got), err)
			}
			applied, _ := strconv.Atoi(header.Get(marker.AppliedHeader)[0])
			if header.Get(marker.PodHeader)[0] != "echo-0" || header.Get(marker.RouteHeader)[0] != "ns/r" || applied < 2e6 {
				t.Errorf("header %v", header)
			}
		}
	}
	got := s.Counters()
	if diff := cmp.Diff([]GRPCCount{{0, 8}}, got.GRPC); diff != "" || got.Routes[0] != (RouteCount{"ns/r", 200, 8}) {
		t.Errorf("routes %v (-want +got):\n%s", got.Routes, diff)
	}
}

func TestGRPCFaults(t *testing.T) {
	for rule, want := range map[string]codes.Code{
		`"status":{"code":503}`:          codes.Unavailable,
		`"status":{"code":200,"grpc":8}`: codes.ResourceExhausted,
		`"reset":{}`:                     codes.Internal,
		`"reset":{"at":"middle"}`:        codes.Internal,
		`"garbage":{}`:                   codes.Internal,
	} {
		t.Run(rule, func(t *testing.T) {
			s, _ := serve(t, Options{Faults: faults(t, `{"rules":[{"every":4,`+rule+`}]}`)})
			conn := dialGRPC(t, s)
			defer conn.Close()
			counts := map[codes.Code]int{}
			for range 40 {
				var header metadata.MD
				_, err := invoke(t.Context(), conn, []byte("hello"), &header)
				counts[status.Code(err)]++
			}
			if diff := cmp.Diff(map[codes.Code]int{codes.OK: 30, want: 10}, counts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestGRPCHealth(t *testing.T) {
	s, _ := serve(t, Options{})
	conn := dialGRPC(t, s)
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	watch, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		faults string
		want   grpc_health_v1.HealthCheckResponse_ServingStatus
	}{
		{`{}`, grpc_health_v1.HealthCheckResponse_SERVING},
		{`{"health":{"status":503}}`, grpc_health_v1.HealthCheckResponse_NOT_SERVING},
		{`{}`, grpc_health_v1.HealthCheckResponse_SERVING},
	} {
		if err := s.SetFaults(faults(t, c.faults)); err != nil {
			t.Fatal(err)
		}
		r, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: "any"})
		if err != nil || r.Status != c.want {
			t.Errorf("check: %v, %v", r, err)
		}
		if r, err = watch.Recv(); err != nil || r.Status != c.want {
			t.Errorf("watch: %v, %v", r, err)
		}
	}
	if err := s.SetFaults(fault.Faults{Rules: []fault.Rule{{Status: &fault.Status{Code: 503}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); status.Code(err) != codes.Unavailable {
		t.Errorf("a fault that health follows: %v", err)
	}
	if got := s.Counters(); got.Health.Requests != 5 || got.Requests != 0 {
		t.Errorf("%d health checks, %d requests", got.Health.Requests, got.Requests)
	}
}
