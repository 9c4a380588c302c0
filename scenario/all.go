package scenario

// All lists the scenarios, in the order in which a reader wants them.
func All() []*Scenario {
	return []*Scenario{
		routePropagation,
		routeChange,
		attachedRoutes,
		architecture,
	}
}

// Find returns the scenario of that name, or nil.
func Find(name string) *Scenario {
	for _, s := range All() {
		if s.Name == name {
			return s
		}
	}
	return nil
}
