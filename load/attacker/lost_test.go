package attacker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatemark/gatemark/load"
)

// TestLost: whenever an attacker is lost, and however, the attack fails, the
// error names it, and the others are stopped.
func TestLost(t *testing.T) {
	killed := func(_ *testing.T, p *post) { p.kill() }
	for _, c := range []struct {
		name string
		lose func(t *testing.T, p *post)
		want string
	}{
		{"killed", killed, "127.0.0.1:"},
		{"restarted", func(t *testing.T, p *post) {
			again, err := NewServer(token)
			if err != nil {
				t.Fatal(err)
			}
			p.answer(again.ServeHTTP)
		}, "restarted"},
		{"hangs", func(_ *testing.T, p *post) {
			p.answer(func(_ http.ResponseWriter, r *http.Request) {
				// That the client is gone shows only when its body is read.
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			})
		}, "no answer within"},
		{"another program", func(_ *testing.T, p *post) { p.answer(http.NotFound) }, "no attacker answers there"},
	} {
		for when, do := range map[string]func(ctx context.Context, f *Fleet, o load.Options, lose func()) error{
			"before prepare": lostBeforePrepare, "before start": lostBeforeStart, "before mark": lostBeforeMark, "before collect": lostBeforeCollect,
		} {
			if c.name == "hangs" && when != "before mark" && when != "before collect" {
				continue // each takes the fleet's whole patience
			}
			t.Run(c.name+" "+when, func(t *testing.T) {
				t.Parallel()
				all, members := posts(t, 3)
				members[1].Node = "node-b"
				f := fleetOf(t, members, FleetOptions{Patience: 2 * time.Second})
				o := steady(backend(t))
				o.Rate, o.Timeout = load.Steady(20, time.Hour), 200*time.Millisecond
				err := do(t.Context(), f, o, func() { c.lose(t, all[1]) })
				var gone *ErrLost
				if !errors.As(err, &gone) || gone.Attacker != "attacker-1" || gone.Node != "node-b" {
					t.Fatalf("error %v", err)
				}
				if text := err.Error(); !strings.Contains(text, "attacker attacker-1 on node node-b was lost") || !strings.Contains(text, c.want) {
					t.Errorf("error %q, want %q", text, c.want)
				}
				stopped(t, all[0], all[2])
				if _, err := f.Collect(t.Context()); !errors.As(err, &gone) {
					t.Errorf("collected later: %v", err)
				}
			})
		}
	}
}

func (p *post) answer(instead http.HandlerFunc) { p.instead.Store(&instead) }

// stopped waits until attackers have ended what they did.
func stopped(t *testing.T, all ...*post) {
	t.Helper()
	for _, p := range all {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		p.slot.waitForEnd(ctx)
		if st := p.state(); !st.Phase.ended() {
			t.Errorf("state %+v", st)
		}
	}
}

func lostBeforePrepare(ctx context.Context, f *Fleet, o load.Options, lose func()) error {
	lose()
	return f.Prepare(ctx, o)
}

func lostBeforeStart(ctx context.Context, f *Fleet, o load.Options, lose func()) error {
	if err := f.Prepare(ctx, o); err != nil {
		return err
	}
	lose()
	_, err := f.Start(ctx)
	return err
}

func started(ctx context.Context, f *Fleet, o load.Options) error {
	if err := f.Prepare(ctx, o); err != nil {
		return err
	}
	_, err := f.Start(ctx)
	return err
}

func lostBeforeMark(ctx context.Context, f *Fleet, o load.Options, lose func()) error {
	if err := started(ctx, f, o); err != nil {
		return err
	}
	lose()
	_, err := f.Mark(ctx, "w")
	return err
}

// lostBeforeCollect also waits for Lost, as a caller would that does something
// else meanwhile.
func lostBeforeCollect(ctx context.Context, f *Fleet, o load.Options, lose func()) error {
	if err := started(ctx, f, o); err != nil {
		return err
	}
	time.AfterFunc(1300*time.Millisecond, lose) // it has begun
	select {
	case <-f.Lost():
	case <-time.After(30 * time.Second):
		return errors.New("Lost says nothing")
	}
	_, err := f.Collect(ctx)
	return err
}

// TestCollectEndsWithItsContext: nobody attacks for a caller who is gone.
func TestCollectEndsWithItsContext(t *testing.T) {
	all, members := posts(t, 2)
	f := fleetOf(t, members, FleetOptions{})
	o := steady(backend(t))
	o.Rate = load.Steady(200, time.Hour)
	if err := started(t.Context(), f, o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := f.Collect(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	stopped(t, all...)
}
