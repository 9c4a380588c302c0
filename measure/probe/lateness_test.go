package probe

import (
	"testing"
	"time"
)

func TestLateness(t *testing.T) {
	const ms = time.Millisecond
	t0 := time.Now()
	at := func(d time.Duration) time.Time { return t0.Add(d) }
	probe := func(due, delay time.Duration) Sample {
		return Sample{Due: due, Began: due + delay, Sent: due + delay, Received: due + delay + ms}
	}
	l := &Lane{
		First:  Interval{After: at(20 * ms), By: at(30 * ms)},
		Stable: Interval{After: at(50 * ms), By: at(60 * ms)},
		Samples: []Sample{
			probe(19*ms, 99*ms), probe(20*ms, 2*ms), probe(29*ms, 3*ms), probe(40*ms, 99*ms), probe(55*ms, 4*ms), probe(61*ms, 99*ms),
		},
	}
	o := &Outcome{T0: t0}
	if got := o.Lateness(l); got != 4*ms {
		t.Errorf("got %v, want the delay of the probe that was due at 55 ms", got)
	}
	l.Stable = Interval{}
	if got := o.Lateness(l); got != 3*ms {
		t.Errorf("never served for good: got %v", got)
	}
}
