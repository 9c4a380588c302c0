package detection

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/gatemark/gatemark/load/attacker"
	"github.com/gatemark/gatemark/scenario"
)

// attackers attack from this process, on a cluster that runs no pods: an
// attacker is an address and a token, wherever it is.
type attackers struct {
	*attacker.Fleet
	servers []*attacker.Server
	webs    []*http.Server
}

// attackersToken is known to this process alone.
const attackersToken = "detection"

// lead suffices where everybody is in one process.
const lead = 200 * time.Millisecond

func startAttackers(ctx context.Context, n int) (scenario.Attackers, error) {
	a := &attackers{}
	var members []attacker.Member
	for i := range n {
		server, err := attacker.NewServer(attackersToken)
		if err != nil {
			return nil, errors.Join(err, a.Remove(ctx))
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start attacker %d: %w", i, err), a.Remove(ctx))
		}
		web := &http.Server{Handler: server, ReadHeaderTimeout: time.Second}
		go func() { _ = web.Serve(listener) }() // it ends when it is closed
		a.servers, a.webs = append(a.servers, server), append(a.webs, web)
		members = append(members, attacker.Member{Name: scenario.AttackerName + "-" + strconv.Itoa(i), Address: listener.Addr().String()})
	}
	var err error
	if a.Fleet, err = attacker.NewFleet(ctx, attackersToken, members, attacker.FleetOptions{Lead: lead}); err != nil {
		return nil, errors.Join(err, a.Remove(ctx))
	}
	return a, nil
}

// Remove implements scenario.Attackers.
func (a *attackers) Remove(ctx context.Context) error {
	if a.Fleet != nil {
		a.Close()
	}
	var problems []error
	for i, web := range a.webs {
		problems = append(problems, a.servers[i].Close(ctx), web.Close())
	}
	return errors.Join(problems...)
}
