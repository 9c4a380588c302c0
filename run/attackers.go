package run

import (
	"context"
	"strings"

	"github.com/gatemark/gatemark/measure/fleet"
	"github.com/gatemark/gatemark/scenario"
)

// tokenSecret is the Secret with the runner's own token: see
// session/runner.yaml.
const tokenSecret = "runner"

// attackers starts attackers for a trial, as pods beside the runner, which may
// make them there and nowhere else. An attempt's pods have names of their own:
// those of one that was lost may still be ending.
func (e *Executor) attackers(t *scenario.Trial) func(context.Context, int) (scenario.Attackers, error) {
	name := scenario.AttackerName + strings.TrimPrefix(t.Namespace, "gm-"+t.RunID)
	return func(ctx context.Context, n int) (scenario.Attackers, error) {
		pods, err := fleet.Start(ctx, fleet.Options{
			Kube: e.Kube, Namespace: e.Config.Namespace, Run: t.RunID, Trial: t.Result.ID, Name: name,
			Image: e.Config.EchoImage, Token: e.Token, Secret: tokenSecret, Attackers: n,
		})
		if err != nil {
			return nil, err
		}
		return pods, nil
	}
}
