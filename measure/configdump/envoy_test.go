package configdump

import (
	"testing"
	"time"
)

func TestEnvoyRoutes(t *testing.T) {
	parts, err := EnvoyRoutes([]byte(`{"configs":[
	 {"@type":"type.googleapis.com/envoy.admin.v3.RoutesConfigDump.DynamicRouteConfig","version_info":"a1",
	  "route_config":{"@type":"type.googleapis.com/envoy.config.route.v3.RouteConfiguration","name":"ns/gw/http",
	   "virtual_hosts":[{"name":"v","domains":["r-1.gatemark.test"]}]},
	  "last_updated":"2026-11-21T11:02:03.456Z"}]}`))
	if err != nil || len(parts) != 1 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	p := parts[0]
	if p.Name != "ns/gw/http" || !p.Updated.Equal(time.Date(2026, 11, 21, 11, 2, 3, 456e6, time.UTC)) {
		t.Errorf("got %s at %s", p.Name, p.Updated)
	}
	if !p.Contains("r-1.gatemark.test") || p.Contains("r-2.gatemark.test") {
		t.Error("the part does not know what it contains")
	}
	for _, bad := range []string{``, `{"configs":[{"route_config":{"name":"x"}}]}`, `{"configs":[{"route_config":3}]}`} {
		if parts, err := EnvoyRoutes([]byte(bad)); err == nil {
			t.Errorf("%s was read as %v", bad, parts)
		}
	}
	if parts, err := EnvoyRoutes([]byte(`{}`)); err != nil || len(parts) != 0 {
		t.Errorf("an empty dump is %v, %v", parts, err)
	}
}
