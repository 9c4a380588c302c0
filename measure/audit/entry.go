package audit

import (
	"hash/maphash"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A status as far as the audit looks: routes have parents, policies have
// ancestors. Gateways and ListenerSets have listeners beside what is about
// themselves, and everything else is one entry.
type status struct {
	Parents    []entryBody    `json:"parents"`
	Ancestors  []entryBody    `json:"ancestors"`
	Listeners  []listenerBody `json:"listeners"`
	Conditions []condition    `json:"conditions"`
	Rest       jsontext.Value `json:",unknown"`
}

type listenerBody struct {
	Name       string         `json:"name"`
	Conditions []condition    `json:"conditions"`
	Rest       jsontext.Value `json:",unknown"`
}

type entryBody struct {
	ControllerName string      `json:"controllerName"`
	ParentRef      *reference  `json:"parentRef"`
	AncestorRef    *reference  `json:"ancestorRef"`
	Conditions     []condition `json:"conditions"`
}

type reference struct {
	Group       string `json:"group"`
	Kind        string `json:"kind"`
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	SectionName string `json:"sectionName"`
	Port        int32  `json:"port"`
}

type condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
	ObservedGeneration int64  `json:"observedGeneration"`
}

// An entryKey is whose an entry is, and about what. One of each is enough.
type entryKey struct {
	controller string
	ref        reference
}

// An entry is one part of a status that has one rightful writer.
type entry struct {
	entryKey
	// sum is over what the entry says, transition times apart.
	sum uint64
	// observed is the lowest generation in its conditions; -1 without any.
	observed int64
}

var seed = maphash.MakeSeed()

// entries splits the status of an object in that namespace.
func (s *status) entries(namespace string) []entry {
	bodies := append(slices.Clone(s.Parents), s.Ancestors...)
	if len(bodies) == 0 {
		return s.own()
	}
	all := make([]entry, 0, len(bodies))
	for _, b := range bodies {
		ref := b.ParentRef
		if ref == nil {
			ref = b.AncestorRef
		}
		if ref == nil {
			ref = &reference{}
		}
		all = append(all, entryOf(entryKey{b.ControllerName, ref.resolved(namespace)}, b.Conditions))
	}
	return all
}

// own splits a status that belongs to one controller, which it does not name.
func (s *status) own() []entry {
	var all []entry
	if len(s.Conditions) > 0 || len(s.Rest) > len("{}") {
		e := entryOf(entryKey{}, s.Conditions)
		e.sum ^= maphash.Bytes(seed, s.Rest)
		all = append(all, e)
	}
	for _, l := range s.Listeners {
		e := entryOf(entryKey{ref: reference{Kind: "Listener", SectionName: l.Name}}, l.Conditions)
		e.sum ^= maphash.Bytes(seed, l.Rest)
		all = append(all, e)
	}
	return all
}

// resolved fills in what a reference may leave out, so that two ways to write
// one parent are one key.
func (r reference) resolved(namespace string) reference {
	if r.Group == "" && (r.Kind == "" || r.Kind == "Gateway") {
		r.Group = "gateway.networking.k8s.io"
	}
	if r.Kind == "" {
		r.Kind = "Gateway"
	}
	if r.Namespace == "" {
		r.Namespace = namespace
	}
	return r
}

func (r reference) String() string {
	text := strings.ToLower(r.Kind) + " " + r.Namespace + "/" + r.Name
	if r.SectionName != "" {
		text += " section " + r.SectionName
	}
	return text
}

func entryOf(key entryKey, conditions []condition) entry {
	e := entry{entryKey: key, observed: -1}
	var h maphash.Hash
	h.SetSeed(seed)
	for _, c := range conditions {
		for _, part := range []string{c.Type, c.Status, c.Reason, c.Message} {
			h.WriteString(part) //nolint:errcheck // never fails
			h.WriteByte(0)      //nolint:errcheck // never fails
		}
		h.WriteByte(byte(c.ObservedGeneration)) //nolint:errcheck // never fails
		if e.observed < 0 || c.ObservedGeneration < e.observed {
			e.observed = c.ObservedGeneration
		}
	}
	e.sum = h.Sum64()
	return e
}

func decodeStatus(data jsontext.Value) (status, error) {
	var s status
	if len(data) == 0 {
		return s, nil
	}
	err := jsonv2.Unmarshal(data, &s)
	return s, err
}
