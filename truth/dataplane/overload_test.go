package dataplane

import (
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatemark/gatemark/truth/config"
	"github.com/gatemark/gatemark/truth/fault"
)

// What is within the limit passes, however unevenly it comes within the
// tolerance; of what is beyond, exactly that is refused.
func TestALimitLetsThroughWhatItSays(t *testing.T) {
	for _, c := range []struct {
		rate, bunch int
		passes      int // of those of 10 s
	}{{1000, 1, 10_000}, {2990, 1, 29_900}, {3000, 30, 30_000}, {3000, 60, 30_000}, {3300, 1, 30_000}, {9000, 1, 30_000}} {
		var slot atomic.Int64
		passed := 0
		for i := range 10 * c.rate {
			due := time.Unix(1000, 0).Add(time.Duration(i/c.bunch*c.bunch) * time.Second / time.Duration(c.rate))
			if !exceeds(&slot, due, 3000) {
				passed++
			}
		}
		if most := c.passes + int(3000*tolerance/time.Second) + 2; passed < c.passes || passed > most {
			t.Errorf("of %d a second in bunches of %d, %d passed in 10 s, want %d to %d", c.rate, c.bunch, passed, c.passes, most)
		}
	}
}

func TestRefusesAbove(t *testing.T) {
	b := start(t)
	b.both(1)
	b.faults.Set(fault.Faults{RefusesAbove: 2})
	b.expect("a.test", "/", 200)
	b.expect("a.test", "/", 503)
	b.expectInjected(map[string]int64{"refusesAbove": 1})
}

func TestCrashesAbove(t *testing.T) {
	b := start(t)
	b.both(1)
	before := b.replica.Force().Since
	crashed := make(chan bool, 8)
	b.replica.options.Crash = func() { crashed <- true }
	b.faults.Set(fault.Faults{CrashesAbove: 2})
	b.expect("a.test", "/", 200)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+netip.AddrPortFrom(b.address, uint16(config.ServingPort(80))).String()+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if response, err := http.DefaultClient.Do(request); err == nil {
		response.Body.Close()
		t.Errorf("the request that is too much got status %d", response.StatusCode)
	}
	<-crashed
	b.faults.Set(fault.Faults{})
	for b.replica.Force().Version == 0 || !b.replica.Force().Since.After(before) {
		time.Sleep(10 * time.Millisecond)
	}
	b.expect("a.test", "/", 200)
	if n := b.replica.Injected()["crashesAbove"]; n != 1 {
		t.Errorf("it crashed %d times", n)
	}
}
