package run

import (
	"context"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

type incidents struct{}

func watchIncidents(ctx context.Context, c *kube.Client, t *scenario.Trial) (*incidents, error) {
	return &incidents{}, nil
}
func (i *incidents) finish(ctx context.Context, t *scenario.Trial) {}
