package history

// Meta is the part of an object's metadata that most readers need.
type Meta struct {
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	UID             string `json:"uid"`
	ResourceVersion string `json:"resourceVersion"`
	Generation      int64  `json:"generation"`
}

// Partial is to be embedded in structs that decode only what they need:
//
//	type attached struct {
//		history.Partial
//		Status struct {
//			Listeners []struct {
//				AttachedRoutes int `json:"attachedRoutes"`
//			} `json:"listeners"`
//		} `json:"status"`
//	}
//
// Names are matched exactly, so every field needs its tag.
type Partial struct {
	Metadata Meta `json:"metadata"`
}

// GetNamespace returns the object's namespace.
func (p *Partial) GetNamespace() string { return p.Metadata.Namespace }

// GetName returns the object's name.
func (p *Partial) GetName() string { return p.Metadata.Name }

// GetResourceVersion returns the version of the object.
func (p *Partial) GetResourceVersion() string { return p.Metadata.ResourceVersion }
