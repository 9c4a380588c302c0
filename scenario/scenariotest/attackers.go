package scenariotest

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/echo"
	"github.com/gatemark/gatemark/load"
	"github.com/gatemark/gatemark/load/attacker"
	"github.com/gatemark/gatemark/scenario/attack"
)

// Attackers is one that attacks from this process.
type Attackers struct{ attack *load.Attack }

// Prepare implements scenario.Attackers.
func (a *Attackers) Prepare(ctx context.Context, o load.Options) (err error) {
	a.attack, err = load.Prepare(ctx, o)
	return err
}

// Start implements scenario.Attackers.
func (a *Attackers) Start(context.Context) (time.Time, error) {
	at := time.Now().Add(10 * time.Millisecond)
	a.attack.Start(at)
	return at, nil
}

// Collect implements scenario.Attackers.
func (a *Attackers) Collect(ctx context.Context) (*attacker.Outcome, error) {
	r, err := a.attack.Wait(ctx)
	return &attacker.Outcome{Merged: load.Merged{Result: r}}, err
}

// Reset implements scenario.Attackers.
func (a *Attackers) Reset(context.Context) error { return nil }

// Remove implements scenario.Attackers.
func (a *Attackers) Remove(context.Context) error { return nil }

var backends atomic.Int32

// Backend is the address of a server on a loopback address of its own: its admin
// port is a known one.
func Backend(t *testing.T) string {
	t.Helper()
	address := fmt.Sprintf("127.%d.%d.%d", 64+backends.Add(1)%64, os.Getpid()>>8&255, 1+os.Getpid()%254)
	server, err := echo.Listen(echo.Options{Listen: address + ":8080", Admin: address + ":" + attack.AdminPort, Pod: "echo-1"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return address + ":8080"
}
