package audit

import (
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"k8s.io/apimachinery/pkg/types"
)

// An event is a line of the log, as far as the audit looks.
type event struct {
	Stage            string `json:"stage"`
	Verb             string `json:"verb"`
	User             user   `json:"user"`
	ImpersonatedUser *user  `json:"impersonatedUser"`
	UserAgent        string `json:"userAgent"`
	ObjectRef        struct {
		Resource        string `json:"resource"`
		Namespace       string `json:"namespace"`
		Name            string `json:"name"`
		APIGroup        string `json:"apiGroup"`
		ResourceVersion string `json:"resourceVersion"`
		Subresource     string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	// ResponseObject is the object after a write, and a Status after an error.
	ResponseObject           jsontext.Value `json:"responseObject"`
	RequestReceivedTimestamp time.Time      `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time      `json:"stageTimestamp"`
}

type user struct {
	Username string `json:"username"`
}

type written struct {
	Metadata struct {
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
		Generation      int64     `json:"generation"`
	} `json:"metadata"`
	Spec   spec           `json:"spec"`
	Status jsontext.Value `json:"status"`
}

// A spec as far as the audit looks.
type spec struct {
	ParentRefs []reference `json:"parentRefs"`
}

// parents are what a route in that namespace names.
func (s *spec) parents(namespace string) []reference {
	var all []reference
	for _, ref := range s.ParentRefs {
		all = append(all, ref.resolved(namespace))
	}
	return all
}

func decodeEvent(line []byte) (event, error) {
	var e event
	err := jsonv2.Unmarshal(line, &e)
	return e, err
}

func (e *event) isGatewayAPI() bool {
	return strings.HasPrefix(e.ObjectRef.APIGroup, "gateway.networking.")
}

func (e *event) object() string {
	return e.ObjectRef.Resource + " " + e.ObjectRef.Namespace + "/" + e.ObjectRef.Name
}

func (e *event) writer() string {
	if e.ImpersonatedUser != nil {
		return e.ImpersonatedUser.Username
	}
	return e.User.Username
}

// write decodes the response of an accepted status write.
func (e *event) write() (write, error) {
	var o written
	if err := jsonv2.Unmarshal(e.ResponseObject, &o); err != nil {
		return write{}, err
	}
	version, err := strconv.ParseUint(o.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return write{}, err
	}
	s, err := decodeStatus(o.Status)
	if err != nil {
		return write{}, err
	}
	return write{
		at: e.RequestReceivedTimestamp, writer: e.writer(), verb: e.Verb, kind: e.ObjectRef.Resource,
		namespace: e.ObjectRef.Namespace, name: e.ObjectRef.Name,
		uid: o.Metadata.UID, version: version, generation: o.Metadata.Generation,
		parents: o.Spec.parents(e.ObjectRef.Namespace), entries: s.entries(e.ObjectRef.Namespace),
	}, nil
}

// agent shortens a user agent to its program: "envoy-gateway/v1.9.1".
func agent(userAgent string) string {
	program, _, _ := strings.Cut(userAgent, " ")
	return program
}
