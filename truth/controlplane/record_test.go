package controlplane

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gatemark/gatemark/truth/fault"
)

const httpRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r%d, namespace: a, generation: 1}
spec:
  parentRefs: [{name: g}]
  hostnames: [r%d.test]
  rules:
  - filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: Generation, value: "1"}]}}]
    backendRefs: [{name: s, port: 80}]`

// TestRecordMemory writes this process's resident memory, once a second for
// three minutes, while truth's control plane takes 5 changes a second of 200
// routes: into the file GATEMARK_RECORD, with GATEMARK_LEAK bytes leaked in a
// minute. scenario/routescale/testdata was made so, by ten processes with
// 20971520 and ten with 0, all at once.
func TestRecordMemory(t *testing.T) {
	into := os.Getenv("GATEMARK_RECORD")
	if into == "" {
		t.Skip("records memory for the tests of scenarios: set GATEMARK_RECORD to a file")
	}
	leak, err := strconv.ParseInt(os.Getenv("GATEMARK_LEAK"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{base}
	for i := range 200 {
		texts = append(texts, fmt.Sprintf(httpRoute, i, i))
	}
	objects := objectsOf(t, texts...)
	faults := new(fault.Switch)
	faults.Set(fault.Faults{Leak: leak})
	x := newWrong(faults)
	ctx, cancel := context.WithCancel(t.Context())
	var carrying sync.WaitGroup
	carrying.Go(func() {
		if err := x.burden.Carry(ctx, faults); err != nil {
			t.Error(err)
		}
	})
	var recorded struct{ At, Bytes []float64 }
	pairs := newPairs()
	began := time.Now()
	for i := 0; time.Since(began) < 3*time.Minute; i++ {
		changed := objects.HTTPRoutes.Items[i%200].DeepCopy()
		changed.Generation++
		changed.Spec.Rules[0].Filters[0].RequestHeaderModifier.Set[0].Value = fmt.Sprint(changed.Generation)
		objects.HTTPRoutes.Items[i%200] = *changed
		w := translate(objects, pairs)
		for _, g := range w.gateways {
			g.told = g.snapshot()
		}
		x.work(w)
		x.conclude(w)
		if i%5 == 0 {
			recorded.At, recorded.Bytes = append(recorded.At, time.Since(began).Seconds()), append(recorded.Bytes, resident(t))
		}
		time.Sleep(200 * time.Millisecond)
	}
	cancel()
	carrying.Wait()
	text, err := json.Marshal(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(into, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func resident(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.ParseFloat(string(bytes.Fields(text)[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return pages * float64(os.Getpagesize())
}
