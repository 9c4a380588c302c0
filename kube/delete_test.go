package kube

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gatemark/gatemark/kube/fakeapi"
)

func fill(t *testing.T, server *fakeapi.Server) {
	t.Helper()
	for _, run := range []string{"r1", "r2"} {
		namespace := &corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "ns-" + run}}
		Own(namespace, run, "")
		server.Put(t, namespace)
		server.Put(t, configMap("ns-"+run, "made-by-a-controller"))
		for i := range 20 {
			cm := configMap("theirs", fmt.Sprintf("%s-%d", run, i))
			Own(cm, run, "t")
			server.Put(t, cm)
		}
	}
	server.Put(t, &corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}, ObjectMeta: metav1.ObjectMeta{Name: "theirs"}})
	server.Put(t, configMap("theirs", "precious"))
	other := configMap("theirs", "precious-too")
	other.Labels = map[string]string{OwnerLabel: "somebody", RunLabel: "r1"}
	server.Put(t, other)
}

func TestDeleteAllTouchesOnlyItsOwn(t *testing.T) {
	server, c := startFake(t)
	fill(t, server)
	removal, err := DeleteAll(t.Context(), c, DeleteOptions{Owned: OwnedBy("r1", "")})
	if err != nil {
		t.Fatal(err)
	}
	if removal.Deleted != 21 {
		t.Errorf("deleted %d, want 20 config maps and a namespace", removal.Deleted)
	}
	if names := server.Names(); slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "r1") }) || len(names) != 22+3 {
		t.Errorf("left: %q", names)
	}
	if _, err = DeleteAll(t.Context(), c, DeleteOptions{Owned: OwnedBy("", "")}); err != nil {
		t.Fatal(err)
	}
	want := []string{"configmaps theirs/precious", "configmaps theirs/precious-too", "namespaces /theirs"}
	if diff := cmp.Diff(want, server.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if removal, err = DeleteAll(t.Context(), c, DeleteOptions{Owned: OwnedBy("", "")}); err != nil || removal.Deleted != 0 {
		t.Errorf("deleting again: %d, %v", removal.Deleted, err)
	}
}

func TestDeleteAllRefusesOtherLabels(t *testing.T) {
	server, c := startFake(t)
	fill(t, server)
	before := len(server.Names())
	for _, owned := range []labels.Set{nil, {RunLabel: "r1"}, {OwnerLabel: "somebody"}} {
		if _, err := DeleteAll(t.Context(), c, DeleteOptions{Owned: owned}); err == nil {
			t.Errorf("%v was accepted", owned)
		}
	}
	if len(server.Names()) != before {
		t.Error("something was deleted")
	}
}

func TestDeleteAllSaysWhatHolds(t *testing.T) {
	server, c := startFake(t)
	held := configMap("a", "held")
	held.Finalizers = []string{"example.com/hold"}
	Own(held, "r1", "")
	server.Put(t, held)
	free := configMap("a", "free")
	Own(free, "r1", "")
	server.Put(t, free)
	var progress []string
	const last = "1 of 2 left (1 configmaps)"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := DeleteAll(ctx, c, DeleteOptions{Owned: OwnedBy("r1", ""), Progress: func(f string, args ...any) {
		if progress = append(progress, fmt.Sprintf(f, args...)); progress[len(progress)-1] == last {
			cancel()
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "1 of 2 left after") || !strings.Contains(err.Error(), "configmaps a/held waits for example.com/hold") {
		t.Errorf("got %v", err)
	}
	if !slices.Contains(progress, "2 of 2 left (2 configmaps)") || !slices.Contains(progress, last) {
		t.Errorf("progress %q", progress)
	}
	removal, err := DeleteAll(t.Context(), c, DeleteOptions{Owned: OwnedBy("r1", ""), Force: time.Millisecond})
	if err != nil || len(removal.Forced) != 1 || len(server.Names()) != 0 {
		t.Errorf("forced %q, left %q, %v", removal.Forced, server.Names(), err)
	}
}

func TestDeleteAllSparesTheExcepted(t *testing.T) {
	server, c := startFake(t)
	part := configMap("a", "part")
	Own(part, "r1", "")
	part.Labels["part"] = "x"
	server.Put(t, part)
	rest := configMap("a", "rest")
	Own(rest, "r1", "")
	server.Put(t, rest)
	if _, err := DeleteAll(t.Context(), c, DeleteOptions{Owned: OwnedBy("r1", ""), Except: []string{"part"}}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"configmaps a/part"}, server.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// With a definition go all objects of its kind: not if one is somebody else's.
func TestDeleteAllKeepsDefinitionsInUse(t *testing.T) {
	server, c := startFake(t)
	for _, name := range []string{"gateways", "gatewayclasses"} {
		crd := &apiextensionsv1.CustomResourceDefinition{
			TypeMeta:   metav1.TypeMeta{Kind: "CustomResourceDefinition", APIVersion: "apiextensions.k8s.io/v1"},
			ObjectMeta: metav1.ObjectMeta{Name: name + "." + group},
		}
		Own(crd, "r1", "")
		server.Put(t, crd)
	}
	server.Put(t, gateway(1)) // the user's
	removal, err := DeleteAll(t.Context(), c, DeleteOptions{Owned: OwnedBy("", "")})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"customresourcedefinitions /gateways." + group, "gateways a/gw"}
	if diff := cmp.Diff(want, server.Names()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"gateways." + group + ": a/gw is not gatemark's"}, removal.Kept); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
