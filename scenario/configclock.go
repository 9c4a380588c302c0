package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gatemark/gatemark/measure/configdump"
)

// A ConfigClock reads, from each replica's own configuration dump, when a
// route came into force there: a clock independent of our probing.
type ConfigClock struct {
	format  configdump.Format
	sources map[string]*configdump.Source
	Err     error
}

// A ConfigInstant is when a replica took the configuration with a route, by
// its node's wall clock.
type ConfigInstant struct {
	Replica string
	Updated time.Time
}

// OpenConfigClock reaches every replica's dump. It says in the trial's notes
// where there is none: the clock is a check, and no trial depends on it.
func OpenConfigClock(ctx context.Context, t *Trial, s *Stage) *ConfigClock {
	c := &ConfigClock{sources: map[string]*configdump.Source{}}
	dump := t.Target.ConfigDump
	if dump == nil {
		t.Note("The implementation has no configuration dump to hold the probes against.")
		return c
	}
	var known bool
	if c.format, known = configdump.Formats[dump.Format]; !known {
		t.Note("The configuration dump is in the unknown format %q.", dump.Format)
		return c
	}
	for _, r := range s.Replicas {
		namespace, pod, ok := strings.Cut(r.Pod, "/")
		if !ok {
			continue
		}
		if r.Node != t.Node {
			t.Note("The configuration dump of %s is not held against the probes: its node %s has a clock of its own.", r.Pod, r.Node)
			continue
		}
		source, err := configdump.Open(ctx, t.Kube.Config, namespace, pod, dump.Port)
		if err != nil {
			t.Note("The configuration dump of %s cannot be read: %v.", r.Pod, err)
			continue
		}
		c.sources[r.Pod] = source
	}
	return c
}

// Read finds the route in each replica's configuration.
func (c *ConfigClock) Read(ctx context.Context, route string) []ConfigInstant {
	var instants []ConfigInstant
	for replica, source := range c.sources {
		at, err := c.readOne(ctx, source, route)
		if err != nil {
			c.Err = fmt.Errorf("%s: %w", replica, err)
			continue
		}
		instants = append(instants, ConfigInstant{replica, at})
	}
	return instants
}

func (c *ConfigClock) readOne(ctx context.Context, source *configdump.Source, route string) (time.Time, error) {
	data, err := source.Get(ctx, c.format.Path)
	if err != nil {
		return time.Time{}, err
	}
	parts, err := c.format.Read(data)
	if err != nil {
		return time.Time{}, err
	}
	for _, part := range parts {
		if part.Contains(route) {
			return part.Updated, nil
		}
	}
	return time.Time{}, fmt.Errorf("route %s is in none of the %d parts of its configuration", route, len(parts))
}

// Close ends the connections to the dumps.
func (c *ConfigClock) Close() {
	for _, source := range c.sources {
		source.Close()
	}
}
