package dataplane

import (
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

func TestCrashEvery(t *testing.T) {
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{CrashEvery: 2})
	crashed := make(chan bool, 1)
	at := netip.AddrPortFrom(b.address, uint16(config.ServingPort(80))).String()
	b.replica.options.Crash = func() { // its process would end here
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		crashed <- err == nil
	}
	began := time.Now()
	b.both(2) // the second configuration
	if !<-crashed {
		t.Error("before the crash the port is closed")
	}
	if away := b.replica.Force().Since.Sub(began); away < restart {
		t.Errorf("in force after %s, want at least %s", away, restart)
	}
	b.expect("a.test", "/", 200)
	b.expectInjected(map[string]int64{"crashEvery": 1})
}

func TestACrashedReplicaServesNothing(t *testing.T) {
	b := start(t)
	b.both(1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.replica.crash(ended); err == nil {
		t.Error("it waited, though its context has ended")
	}
	if c, err := net.Dial("tcp", netip.AddrPortFrom(b.address, uint16(config.ServingPort(80))).String()); err == nil {
		c.Close()
		t.Error("the port is open")
	}
	if f := b.replica.Force(); f.Version != 0 || len(f.Routes) != 0 {
		t.Errorf("in force is %+v", f)
	}
}

func TestThrottle(t *testing.T) {
	const throttle = 50 * time.Millisecond
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{Throttle: throttle})
	began := time.Now()
	b.both(2) // which it gets at once
	b.both(3)
	if took := b.replica.Force().Since.Sub(began); took < throttle {
		t.Errorf("the second configuration is in force after %s, want at least %s", took, throttle)
	}
}
