package fault

// Count is what attachedRoutes says of a listener, the n-th of its Gateway from
// 0 on, that has so many routes and never had more than peak.
func (f Faults) Count(listener, routes, peak int) int {
	if f.CountsFirstListener && listener > 0 {
		return 0
	}
	n := max(routes, min(f.StuckCount, peak))
	if routes > 0 {
		n += f.Overcount - f.Undercount
	}
	return max(n, 0)
}
