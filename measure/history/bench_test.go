package history

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// line is a watch event of a route with the statuses of three controllers.
func line(b *testing.B) []byte {
	b.Helper()
	r := route("r", 3)
	r.ResourceVersion, r.Generation = "123456", 3
	r.CreationTimestamp = metav1.Now()
	for i := range r.Status.Parents {
		r.ManagedFields = append(r.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("manager-", i), Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:hostnames":{},"f:parentRefs":{},"f:rules":{}},"f:status":{".":{},"f:parents":{}}}`),
		})
		for _, name := range []string{"Accepted", "ResolvedRefs"} {
			r.Status.Parents[i].Conditions = append(r.Status.Parents[i].Conditions, metav1.Condition{
				Type: name, Status: "True", Reason: name, Message: "Route is accepted", ObservedGeneration: 3, LastTransitionTime: metav1.Now()})
		}
	}
	object, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", object)
}

func benchmark[T any, P Object[T]](b *testing.B) {
	f := &follower[T, P]{watcher: &Watcher{}, record: func(Event[T]) {}}
	fr := frame{line: line(b), at: now()}
	b.SetBytes(int64(len(fr.line)))
	b.ReportAllocs()
	for b.Loop() {
		f.event(fr)
	}
	if losses := f.watcher.Report().Losses; len(losses) > 0 {
		b.Fatal(losses)
	}
}

// What one event costs to decode, whole and in part.
func BenchmarkWhole(b *testing.B)   { benchmark[gatewayv1.HTTPRoute](b) }
func BenchmarkPartial(b *testing.B) { benchmark[Partial](b) }
