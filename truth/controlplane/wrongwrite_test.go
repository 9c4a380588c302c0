package controlplane

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/truth/fault"
)

func counting(counts ...int32) *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "a"}}
	for i, n := range counts {
		g.Status.Listeners = append(g.Status.Listeners, gatewayv1.ListenerStatus{Name: gatewayv1.SectionName(fmt.Sprint(i)), AttachedRoutes: n})
	}
	return g
}

func TestCountPerWrite(t *testing.T) {
	for _, c := range []struct {
		now, wanted *gatewayv1.Gateway
		want        string
	}{
		{counting(0, 0), counting(3, 1), "[1 1] [2 1] [3 1]"},
		{counting(3, 3), counting(1, 3), "[2 3] [1 3]"},
		{counting(1), counting(1), "[1]"},
		{counting(), counting(2), "[1] [2]"},
	} {
		got := ""
		for _, o := range stepsTo(fault.Faults{CountPerWrite: true}, c.now, c.wanted) {
			var counts []int32
			for _, l := range o.(*gatewayv1.Gateway).Status.Listeners {
				counts = append(counts, l.AttachedRoutes)
			}
			got += " " + fmt.Sprint(counts)
		}
		if got != " "+c.want {
			t.Errorf("from %v to %v:%s, want %s", c.now.Status.Listeners, c.wanted.Status.Listeners, got, c.want)
		}
	}
	if n := len(stepsTo(fault.Faults{}, counting(0), counting(9))); n != 1 {
		t.Errorf("without the fault %d writes", n)
	}
	if n := len(stepsTo(fault.Faults{CountPerWrite: true}, aRoute(), aRoute())); n != 1 {
		t.Errorf("of a route %d writes", n)
	}
}

func TestNoopWrites(t *testing.T) {
	w := newWriting(t, aRoute())
	w.wrong.Set(fault.Faults{NoopWrites: 2})
	w.expect(w.writer.writes, 3, "one that changes something, two that do not", accepted(w.get("r"), yes("Accepted")))
	if got := reasons(w.get("r").Status.Parents[0].Conditions); got != "Accepted=Accepted" {
		t.Errorf("it says %s", got)
	}
	w.expect(w.writer.writes, 3, "nothing to change", accepted(w.get("r"), yes("Accepted")))
}

// A status lags by its time, and is not put off by the next one.
func TestAStatusLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lag = time.Second
		faults := new(fault.Switch)
		faults.Set(fault.Faults{CountLate: lag})
		w := newWriter(nil, faults, fault.Faults.BeforeGatewayStatus, slog.New(slog.DiscardHandler))
		expect := func(when string, want int) {
			t.Helper()
			if got := len(w.due().statuses); got != want {
				t.Errorf("%s: %d statuses are due, want %d", when, got, want)
			}
		}
		for n := range 3 {
			w.want(stale{}, make([]status, n+1))
			time.Sleep(lag / 10)
		}
		expect("before any", 0)
		<-w.wake
		expect("after the first one's lag", 1)
		<-w.wake
		expect("after the second one's", 2)
		<-w.wake
		expect("after the third one's", 3)
		expect("asked again", 3)
		faults.Set(fault.Faults{})
		w.want(stale{}, make([]status, 4))
		<-w.wake
		expect("without a lag", 4)
		if len(w.wishes) != 1 {
			t.Errorf("%d wishes are kept", len(w.wishes))
		}
	})
}
