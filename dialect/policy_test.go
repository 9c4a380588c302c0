package dialect

import (
	"strings"
	"testing"
)

func TestPolicies(t *testing.T) {
	for _, c := range []struct {
		name string
		Policy
		want []string
	}{
		{"good", Policy{OutlierDetection, objects, "host: {{.Service}}"}, nil},
		{"nothing", Policy{}, []string{"objects: missing", `name: "" is not one of`, "names no Gateway, Service or route"}},
		{"no template", Policy{HealthChecks, objects, "{{range}}"}, []string{"missing value for range"}},
	} {
		err := c.Check()
		if len(c.want) == 0 && err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, part := range c.want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, which does not say %q", c.name, err, part)
			}
		}
	}
}
