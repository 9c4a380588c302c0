package fakeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
)

// A target is what a path names.
type target struct {
	resource        Resource
	namespace, name string
	subresource     string
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	refuse := s.refuse
	s.mu.Unlock()
	if refuse {
		fail(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "refused")
		return
	}
	if s.discover(w, r.URL.Path) {
		return
	}
	t, ok := s.find(r.URL.Path)
	query := r.URL.Query()
	switch {
	case !ok:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, "no such path: "+r.URL.Path)
	case t.subresource == "log":
		s.serveLog(w, t, query.Get("previous") == "true")
	case r.Method == http.MethodDelete && t.name != "":
		s.serveDelete(w, t)
	case r.Method == http.MethodPatch:
		s.servePatch(w, r, t)
	case r.Method == http.MethodPost && t.name == "":
		s.serveCreate(w, r, t)
	case r.Method == http.MethodPut && t.name != "":
		s.serveReplace(w, r, t)
	case r.Method != http.MethodGet:
		fail(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, r.Method)
	case t.name != "":
		s.serveGet(w, t)
	case query.Get("watch") == "true" || query.Get("watch") == "1":
		s.serveWatch(w, r, t)
	default:
		s.serveList(w, r, t)
	}
}

func (s *Server) find(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[1:]
	case len(parts) > 3 && parts[0] == "apis":
		group, parts = parts[1], parts[2:]
	default:
		return target{}, false
	}
	t, version, parts := target{}, parts[0], parts[1:]
	if len(parts) > 2 && parts[0] == "namespaces" {
		t.namespace, parts = parts[1], parts[2:]
	}
	i := slices.IndexFunc(s.resources, func(r Resource) bool {
		return r.Group == group && r.Version == version && r.Name == parts[0]
	})
	if i < 0 {
		return t, false
	}
	t.resource = s.resources[i]
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	return t, true
}

func (s *Server) discover(w http.ResponseWriter, path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/version":
		reply(w, map[string]string{"gitVersion": "v1.0.0-fake"})
	case path == "/api":
		reply(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/apis":
		reply(w, s.groups())
	case path == "/api/v1":
		reply(w, s.resourceList("", "v1"))
	case len(parts) == 3 && parts[0] == "apis":
		reply(w, s.resourceList(parts[1], parts[2]))
	default:
		return false
	}
	return true
}

func (s *Server) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, r := range s.resources {
		if r.Group == "" || slices.ContainsFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == r.Group }) {
			continue
		}
		v := metav1.GroupVersionForDiscovery{GroupVersion: r.GroupVersion().String(), Version: r.Version}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: r.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
	}
	return list
}

func (s *Server) resourceList(group, version string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, r := range s.resources {
		if r.Group == group && r.Version == version {
			list.GroupVersion = r.GroupVersion().String()
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: r.Name, Kind: r.Kind, Namespaced: r.Namespaced,
				Verbs: metav1.Verbs{"get", "list", "watch", "delete", "patch"},
			})
		}
	}
	return list
}

func (s *Server) serveLog(w http.ResponseWriter, t target, previous bool) {
	s.mu.Lock()
	text, ok := s.logs[logKey(t.namespace, t.name, previous)]
	s.mu.Unlock()
	if !ok {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "no log of "+t.name)
		return
	}
	io.WriteString(w, text) //nolint:errcheck // the test's client went away
}

func (s *Server) serveGet(w http.ResponseWriter, t target) {
	s.mu.Lock()
	obj, ok := s.objects[key(t.resource, t.namespace, t.name)]
	s.mu.Unlock()
	if !ok {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, t.name)
		return
	}
	reply(w, obj)
}

func (s *Server) serveDelete(w http.ResponseWriter, t target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key(t.resource, t.namespace, t.name)
	obj, ok := s.objects[k]
	if !ok {
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, t.name)
		return
	}
	if len(obj.GetFinalizers()) == 0 {
		s.remove(k)
	} else if obj.GetDeletionTimestamp() == nil {
		at := metav1.NewTime(time.Now())
		ending := obj.DeepCopy()
		ending.SetDeletionTimestamp(&at)
		s.put(t.resource, ending)
	}
	reply(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Success"})
}

func (s *Server) serveList(w http.ResponseWriter, r *http.Request, t target) {
	match, err := matcher(r, t)
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := map[string]any{"kind": t.resource.Kind + "List", "apiVersion": t.resource.GroupVersion().String()}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		list = map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
	}
	items := []any{}
	for k, obj := range s.objects {
		if s.resourceOf(k) == t.resource && match(obj) {
			items = append(items, obj.Object)
		}
	}
	list["metadata"] = map[string]any{"resourceVersion": strconv.Itoa(s.version)}
	list["items"] = items
	reply(w, list)
}

func (s *Server) serveWatch(w http.ResponseWriter, r *http.Request, t target) {
	match, err := matcher(r, t)
	from, err2 := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil || err2 != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprint(err, err2))
		return
	}
	s.mu.Lock()
	cut := s.cut
	expired := from < s.floor
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush := w.(http.Flusher).Flush
	flush()
	if expired { // as a real server does: the stream opens, then fails
		send(w, watch.Error, status(http.StatusGone, metav1.StatusReasonExpired, "too old resource version"))
		return
	}
	next := 0
	for {
		select { // a watch that was cut sends nothing more
		case <-cut:
			return
		default:
		}
		s.mu.Lock()
		news, grown := s.log[next:], s.grown
		next = len(s.log)
		s.mu.Unlock()
		for _, c := range news {
			if c.version > from && c.resource == t.resource && match(c.object) {
				send(w, c.kind, c.object)
			}
		}
		flush()
		select {
		case <-grown:
		case <-cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func send(w io.Writer, kind watch.EventType, object any) {
	event := struct { // in the order of a real server
		Type   watch.EventType `json:"type"`
		Object any             `json:"object"`
	}{kind, object}
	json.NewEncoder(w).Encode(event) //nolint:errcheck // the watcher went away
}

func matcher(r *http.Request, t target) (func(*unstructured.Unstructured) bool, error) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	field, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		return nil, err
	}
	return func(obj *unstructured.Unstructured) bool {
		names := fields.Set{"metadata.name": obj.GetName(), "metadata.namespace": obj.GetNamespace(), "involvedObject.name": involved(obj)}
		return (t.namespace == "" || obj.GetNamespace() == t.namespace) &&
			selector.Matches(labels.Set(obj.GetLabels())) && field.Matches(names)
	}, nil
}

func involved(obj *unstructured.Unstructured) string {
	name, _, err := unstructured.NestedString(obj.Object, "involvedObject", "name")
	if err != nil {
		return ""
	}
	return name
}

func status(code int, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	}
}

func fail(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(status(code, reason, message)) //nolint:errcheck // the client went away
}

func reply(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client went away
}
