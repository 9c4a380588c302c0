package attachedroutes

import (
	"maps"
	"time"

	"github.com/gatemark/gatemark/scenario"
)

// current is since when the status of each route is current, of those where it
// was before routes were deleted: one that is accepted because others are gone
// was refused.
func (a *attachment) current(status *scenario.RouteStatus) map[string]time.Time {
	all := status.Instants()
	maps.DeleteFunc(all, func(_ string, at time.Time) bool { return !at.Before(a.down.began()) })
	return all
}

// lacks are the routes whose status was not current when they were deleted.
func (a *attachment) lacks() map[string]string {
	all := map[string]string{}
	current := a.current(a.status)
	for i := range a.up.sent {
		name := attachedName(i)
		if _, ok := current[name]; !ok {
			all[name] = a.status.Lack(name)
		}
	}
	return all
}
