package planerestart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"
)

// A herd is WebSockets that are held open, each with a message that comes back
// again and again. One that ends is opened anew. They are not the load
// engine's, which does not tell how a connection ended.
type herd struct {
	address, host string
	beat, silence time.Duration

	mu      sync.Mutex
	open    int
	ends    []socketEnd
	trouble error // of the last attempt to open one
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// A socketEnd is the end of one WebSocket.
type socketEnd struct {
	// at is when its end was noticed, last when the last echo had come.
	at, last time.Time
	// how it ended: "closed with code 1001", "reset", "silent".
	how string
	// back is when another one was open in its place; zero where none was.
	back time.Time
}

// life is until when it was of use.
func (e *socketEnd) life() time.Time {
	if e.how == silent {
		return e.last
	}
	return e.at
}

// silent is how a WebSocket ends that is open and says nothing.
const silent = "silent"

// socketDial bounds an attempt to open one, and redial is the time between two.
const socketDial, redial = 2 * time.Second, 50 * time.Millisecond

// start opens n of them, and keeps them open until stop.
func (h *herd) start(ctx context.Context, n int) {
	ctx, h.cancel = context.WithCancel(ctx)
	for range n {
		h.running.Go(func() { h.live(ctx) })
	}
}

func (h *herd) stop() {
	h.cancel()
	h.running.Wait()
}

// live is one place in the herd.
func (h *herd) live(ctx context.Context) {
	end := -1 // the place in ends of the one before
	for ctx.Err() == nil {
		socket, err := h.dial(ctx)
		if err != nil {
			h.mu.Lock()
			h.trouble = err
			h.mu.Unlock()
			_ = pause(ctx, redial) // the loop sees its end
			continue
		}
		h.mu.Lock()
		h.open++
		if end >= 0 {
			h.ends[end].back = time.Now()
		}
		h.mu.Unlock()
		last, err := h.talk(ctx, socket)
		h.mu.Lock()
		h.open--
		if ctx.Err() == nil {
			end = len(h.ends)
			h.ends = append(h.ends, socketEnd{at: time.Now(), last: last, how: howEnded(err)})
		}
		h.mu.Unlock()
		socket.CloseNow()
	}
}

// dial opens one.
func (h *herd) dial(ctx context.Context) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, socketDial)
	defer cancel()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, h.address)
	}}
	socket, _, err := websocket.Dial(ctx, "ws://"+h.host+"/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
	return socket, err
}

// talk sends messages and waits for their echoes, until the end.
func (h *herd) talk(ctx context.Context, socket *websocket.Conn) (last time.Time, err error) {
	message := []byte("gatemark")
	last = time.Now()
	for next := last; ; {
		if err := h.echo(ctx, socket, message); err != nil {
			return last, err
		}
		last = time.Now()
		next = next.Add(h.beat)
		if err := pause(ctx, time.Until(next)); err != nil {
			return last, err
		}
	}
}

func (h *herd) echo(ctx context.Context, socket *websocket.Conn, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, h.silence)
	defer cancel()
	if err := socket.Write(ctx, websocket.MessageText, message); err != nil {
		// Why it cannot be written to is told where it is read from.
		if _, _, told := socket.Read(ctx); told != nil && !errors.Is(told, context.DeadlineExceeded) {
			return told
		}
		return err
	}
	_, _, err := socket.Read(ctx)
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.DeadlineExceeded, err)
	}
	return err
}

// howEnded says in words how a WebSocket ended.
func howEnded(err error) string {
	switch code := websocket.CloseStatus(err); {
	case code != -1:
		return fmt.Sprintf("closed with code %d", code)
	case errors.Is(err, context.DeadlineExceeded):
		return silent
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "cut without a close"
	}
	return "broken: " + err.Error()
}

// opened reports how many are open, and why the last attempt to open one failed.
func (h *herd) opened() (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open, h.trouble
}

// all are the ends so far.
func (h *herd) all() []socketEnd {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ends)
}
