package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// body decodes an object that a client sends, in JSON or protobuf.
func body(r *http.Request, resource Resource) (*unstructured.Unstructured, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	if obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil); err == nil {
		if u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj); err != nil {
			return nil, err
		}
	} else if json.Unmarshal(data, &u.Object) != nil { // a kind that Kubernetes does not bring
		return nil, err
	}
	u.SetGroupVersionKind(resource.GroupVersionKind)
	return u, nil
}

func (s *Server) serveCreate(w http.ResponseWriter, r *http.Request, t target) {
	obj, err := body(r, t.resource)
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	obj.SetNamespace(t.namespace)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.objects[key(t.resource, t.namespace, obj.GetName())]; there {
		fail(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, obj.GetName())
		return
	}
	s.put(t.resource, obj)
	reply(w, obj)
}

func (s *Server) serveReplace(w http.ResponseWriter, r *http.Request, t target) {
	obj, err := body(r, t.resource)
	if err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, there := s.objects[key(t.resource, t.namespace, t.name)]
	switch version := obj.GetResourceVersion(); {
	case !there:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, t.name)
	case version != "" && version != old.GetResourceVersion():
		fail(w, http.StatusConflict, metav1.StatusReasonConflict, "it changed")
	default:
		s.put(t.resource, obj)
		reply(w, obj)
	}
}

// servePatch knows JSON patches, merge patches, and applying, which it takes
// for a merge patch that may create.
func (s *Server) servePatch(w http.ResponseWriter, r *http.Request, t target) {
	patch, err := io.ReadAll(r.Body)
	kind, _, err2 := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err := errors.Join(err, err2); err != nil {
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old, there := s.objects[key(t.resource, t.namespace, t.name)]
	if !there {
		if types.PatchType(kind) != types.ApplyYAMLPatchType {
			fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, t.name)
			return
		}
		old = &unstructured.Unstructured{Object: map[string]any{}}
	}
	obj, err := patched(old, types.PatchType(kind), patch)
	switch {
	case err != nil:
		fail(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
		return
	case there && obj.GetUID() != old.GetUID():
		fail(w, http.StatusConflict, metav1.StatusReasonConflict, "another uid")
		return
	case obj.GetDeletionTimestamp() != nil && len(obj.GetFinalizers()) == 0:
		s.remove(key(t.resource, t.namespace, t.name))
	default:
		s.put(t.resource, obj)
	}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		reply(w, metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
			ObjectMeta: metav1.ObjectMeta{Name: t.name, Namespace: t.namespace},
		})
		return
	}
	reply(w, obj)
}

func patched(old *unstructured.Unstructured, kind types.PatchType, patch []byte) (*unstructured.Unstructured, error) {
	text, err := json.Marshal(old.Object)
	if err != nil {
		return nil, err
	}
	switch kind {
	case types.JSONPatchType:
		operations, err := jsonpatch.DecodePatch(patch)
		if err != nil {
			return nil, err
		}
		if text, err = operations.Apply(text); err != nil {
			return nil, err
		}
	case types.MergePatchType, types.ApplyYAMLPatchType: // what applies here is JSON
		if text, err = jsonpatch.MergePatch(text, patch); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("cannot patch by %s", kind)
	}
	obj := &unstructured.Unstructured{}
	return obj, json.Unmarshal(text, &obj.Object)
}
