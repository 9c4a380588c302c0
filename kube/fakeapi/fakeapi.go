// Package fakeapi is an API server in memory, for tests of what reads, watches
// and deletes: lists and watches with label selectors, resource versions that
// can expire, watches that can be cut, finalizers, namespaces that take their
// objects along. Objects come from Go or over HTTP, and nothing is validated;
// what depends on that is tested against a real API server.
package fakeapi

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// A Resource is one kind that the server has.
type Resource struct {
	schema.GroupVersionKind
	Name       string // plural, as in paths
	Namespaced bool
}

// A Server is an API server in memory.
type Server struct {
	URL string

	mu        sync.Mutex
	resources []Resource
	version   int
	floor     int // versions below have expired
	objects   map[string]*unstructured.Unstructured
	log       []change
	cut       chan struct{} // closed to end all watches
	grown     chan struct{} // closed when log grows
	refuse    bool
	requests  []string
	logs      map[string]string
}

type change struct {
	version  int
	kind     watch.EventType
	resource Resource
	object   *unstructured.Unstructured
}

// Start serves until the test ends.
func Start(t testing.TB, resources ...Resource) *Server {
	s := &Server{
		resources: resources, version: 1, objects: map[string]*unstructured.Unstructured{},
		cut: make(chan struct{}), grown: make(chan struct{}), logs: map[string]string{},
	}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.CutWatches()
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL
	return s
}

// Config reaches the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.URL} }

// Mapper maps the server's kinds, for clients that are built without discovery.
func (s *Server) Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, r := range s.resources {
		scope := meta.RESTScopeRoot
		if r.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		gvr := r.GroupVersion().WithResource(r.Name)
		mapper.AddSpecific(r.GroupVersionKind, gvr, gvr, scope)
	}
	return mapper
}

// Put adds or replaces an object, which needs its kind, and returns the
// resource version that it got.
func (s *Server) Put(t testing.TB, obj runtime.Object) string {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: content}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.resources, func(r Resource) bool { return r.GroupVersionKind == u.GroupVersionKind() })
	if i < 0 {
		t.Fatalf("fake API server has no %s", u.GroupVersionKind())
	}
	return s.put(s.resources[i], u)
}

// Delete removes an object at once, whatever its finalizers.
func (s *Server) Delete(resource, namespace, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, obj := range s.objects {
		if r := s.resourceOf(key); r.Name == resource && obj.GetNamespace() == namespace && obj.GetName() == name {
			s.remove(key)
		}
	}
}

// CutWatches ends every watch that is open, without an error.
func (s *Server) CutWatches() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.cut)
	s.cut = make(chan struct{})
}

// Expire makes every version up to now too old to watch from.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.floor = s.version
}

// Refuse answers every request with 503 while it is on.
func (s *Server) Refuse(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = on
}

// SetLog is what the pod's log is; previous selects the last container's.
func (s *Server) SetLog(namespace, pod string, previous bool, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs[logKey(namespace, pod, previous)] = text
}

func logKey(namespace, pod string, previous bool) string {
	return namespace + "/" + pod + "/" + strconv.FormatBool(previous)
}

// Requests lists method and path of every request so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Names lists the objects that are there, as resource namespace/name.
func (s *Server) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

func key(r Resource, namespace, name string) string { return r.Name + " " + namespace + "/" + name }

func (s *Server) resourceOf(key string) Resource {
	name, _, _ := strings.Cut(key, " ")
	i := slices.IndexFunc(s.resources, func(r Resource) bool { return r.Name == name })
	return s.resources[i]
}

// put stores under the lock.
func (s *Server) put(r Resource, obj *unstructured.Unstructured) string {
	k := key(r, obj.GetNamespace(), obj.GetName())
	kind := watch.Modified
	old, there := s.objects[k]
	if !there {
		kind = watch.Added
	}
	if obj.GetUID() == "" && there {
		obj.SetUID(old.GetUID())
	}
	s.version++
	if obj.GetUID() == "" {
		obj.SetUID(types.UID("uid-" + strconv.Itoa(s.version)))
	}
	obj.SetResourceVersion(strconv.Itoa(s.version))
	s.objects[k] = obj
	s.append(change{s.version, kind, r, obj.DeepCopy()})
	return obj.GetResourceVersion()
}

// remove deletes under the lock, a namespace with what lives in it.
func (s *Server) remove(k string) {
	obj, r := s.objects[k], s.resourceOf(k)
	delete(s.objects, k)
	s.version++
	gone := obj.DeepCopy()
	gone.SetResourceVersion(strconv.Itoa(s.version))
	s.append(change{s.version, watch.Deleted, r, gone})
	if r.Name == "namespaces" {
		for inside, other := range s.objects {
			if other.GetNamespace() == obj.GetName() {
				s.remove(inside)
			}
		}
	}
}

func (s *Server) append(c change) {
	s.log = append(s.log, c)
	close(s.grown)
	s.grown = make(chan struct{})
}
