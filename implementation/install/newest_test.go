package install

import (
	"testing"

	"github.com/gatemark/gatemark/implementation"
)

func TestOneGatewayAPIForAll(t *testing.T) {
	of := func(version, channel string) *implementation.Implementation {
		return &implementation.Implementation{GatewayAPI: implementation.GatewayAPI{Version: version, Channel: channel}}
	}
	for _, c := range []struct {
		all  []*implementation.Implementation
		want implementation.GatewayAPI
	}{
		{[]*implementation.Implementation{of("v1.3.0", "standard")}, implementation.GatewayAPI{Version: "v1.3.0", Channel: "standard"}},
		{[]*implementation.Implementation{of("v1.10.0", "standard"), of("v1.9.1", "standard")}, implementation.GatewayAPI{Version: "v1.10.0", Channel: "standard"}},
		{[]*implementation.Implementation{of("v1.3.0", "experimental"), of("v1.6.1", "standard")}, implementation.GatewayAPI{Version: "v1.6.1", Channel: "experimental"}},
	} {
		got, err := Newest(c.all)
		if err != nil || *got != c.want {
			t.Errorf("%+v, %v; want %+v", got, err, c.want)
		}
	}
	if got, err := Newest(nil); got != nil || err != nil {
		t.Errorf("of none: %+v, %v", got, err)
	}
	if _, err := Newest([]*implementation.Implementation{of("latest", "standard")}); err == nil {
		t.Error("no error")
	}
	in := &installation{Installer: &Installer{GatewayAPI: &implementation.GatewayAPI{Version: "v1.6.1", Channel: "standard"}}, impl: of("v1.3.0", "standard"), installed: &Installed{}}
	if got := in.wantedGatewayAPI(); got.Version != "v1.6.1" || len(in.installed.Deviations) != 1 {
		t.Errorf("wanted %+v, deviations %+v", got, in.installed.Deviations)
	}
	in.GatewayAPI, in.installed.Deviations = nil, nil
	if got := in.wantedGatewayAPI(); got.Version != "v1.3.0" || len(in.installed.Deviations) != 0 {
		t.Errorf("wanted %+v, deviations %+v", got, in.installed.Deviations)
	}
}
