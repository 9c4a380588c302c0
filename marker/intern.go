package marker

// internLimit is how many different texts an Interner keeps. A response that
// makes up a new one each time must not fill the memory.
const internLimit = 4096

// An Interner turns Fields into Markers that share their texts: what it has
// seen before costs no allocation. It is not safe for several goroutines.
type Interner struct {
	texts map[string]string
	last  Marker
}

// Marker is f.Marker(), with texts that are kept.
func (i *Interner) Marker(f *Fields) Marker {
	generation, ok := parse(f.generation)
	if len(f.generation) > 0 && !ok {
		generation = -1
	}
	// One route answers most requests, often from one pod.
	if l := &i.last; l.Generation == generation && l.Route == string(f.route) && l.Pod == string(f.pod) && l.Instance == string(f.instance) {
		return i.last
	}
	i.last = Marker{Route: i.text(f.route), Generation: generation, Pod: i.text(f.pod), Instance: i.text(f.instance)}
	return i.last
}

func (i *Interner) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if kept, ok := i.texts[string(b)]; ok {
		return kept
	}
	if i.texts == nil || len(i.texts) >= internLimit {
		i.texts = map[string]string{}
	}
	kept := string(b)
	i.texts[kept] = kept
	return kept
}
