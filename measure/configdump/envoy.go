package configdump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// A Part of a proxy's configuration, as it is in force.
type Part struct {
	Name string
	// Updated is when the proxy took this version of it, by the wall clock
	// of its node, to the millisecond.
	Updated time.Time
	Raw     []byte
}

// Contains reports whether the part speaks of text.
func (p Part) Contains(text string) bool { return bytes.Contains(p.Raw, []byte(text)) }

// envoyRoutesPath asks Envoy's admin for its dynamic route configurations
// only: a whole dump at 3000 routes is many megabytes.
const envoyRoutesPath = "/config_dump?resource=dynamic_route_configs"

// A Format is how a kind of proxy shows its configuration.
type Format struct {
	// Path asks for the routes.
	Path string
	// Read reads the answer.
	Read func([]byte) ([]Part, error)
}

// Formats are the known formats, by the names that implementations' data use.
var Formats = map[string]Format{"envoy": {envoyRoutesPath, EnvoyRoutes}}

// EnvoyRoutes reads the dynamic route configurations of a dump, with
// their last_updated (envoy.admin.v3.RoutesConfigDump.DynamicRouteConfig).
func EnvoyRoutes(data []byte) ([]Part, error) {
	var dump struct {
		Configs []struct {
			LastUpdated time.Time       `json:"last_updated"`
			RouteConfig json.RawMessage `json:"route_config"`
		} `json:"configs"`
	}
	if err := json.Unmarshal(data, &dump); err != nil {
		return nil, fmt.Errorf("read Envoy's configuration dump: %w", err)
	}
	var parts []Part
	for i, c := range dump.Configs {
		var named struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(c.RouteConfig, &named); err != nil {
			return nil, fmt.Errorf("read route configuration %d: %w", i, err)
		}
		if c.LastUpdated.IsZero() {
			return nil, fmt.Errorf("route configuration %s has no last_updated", named.Name)
		}
		parts = append(parts, Part{Name: named.Name, Updated: c.LastUpdated, Raw: c.RouteConfig})
	}
	return parts, nil
}
