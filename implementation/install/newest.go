package install

import (
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/gatemark/gatemark/implementation"
)

// Newest is the release of the Gateway API for a run with all of these
// implementations: the newest version that one of them declares, because a
// control plane may not start without the kinds that it knows, while new
// definitions go on serving old clients; in the experimental channel where one
// of them needs that.
func Newest(all []*implementation.Implementation) (*implementation.GatewayAPI, error) {
	var newest *implementation.GatewayAPI
	var known *version.Version
	for _, i := range all {
		v, err := version.ParseSemantic(i.GatewayAPI.Version)
		if err != nil {
			return nil, err
		}
		switch {
		case newest == nil:
			api := i.GatewayAPI
			newest, known = &api, v
			continue
		case known.LessThan(v):
			newest.Version, known = i.GatewayAPI.Version, v
		}
		if i.GatewayAPI.Channel == "experimental" {
			newest.Channel = i.GatewayAPI.Channel
		}
	}
	return newest, nil
}
