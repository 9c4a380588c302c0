package session

import (
	"context"
	"errors"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/measure/usage"
)

// samplers are the run's, or none where the plan has them off.
func (s *Session) samplers() (usage.Samplers, bool) {
	every := s.Config.Plan.Observe.UsageEvery()
	return usage.Samplers{
		Namespace: s.Config.Namespace, Run: s.Config.RunID, Image: s.Image, Secret: s.key().Name, Interval: every,
	}, every > 0
}

// chooseUsage finds out whether there can be samplers, and has the kubelets
// asked where there cannot: before the runner gets its rights.
func (s *Session) chooseUsage(ctx context.Context) error {
	s.Config.Kubelets = false
	samplers, wanted := s.samplers()
	if !wanted {
		return nil
	}
	objects, err := s.objects()
	if err != nil {
		return err
	}
	// A pod can be judged only where its namespace is.
	if err := kube.Apply(ctx, s.Kube, objects[0]); err != nil {
		return err
	}
	err = usage.Allowed(ctx, s.Kube, samplers)
	if errors.Is(err, usage.ErrForbidden) {
		s.Progress.Printf("there can be no samplers here, so that resource use is as the kubelets tell it: %v", err)
		s.Config.Kubelets = true
		return nil
	}
	return err
}

func (s *Session) startSamplers(ctx context.Context) error {
	samplers, wanted := s.samplers()
	if !wanted || s.Config.Kubelets {
		return nil
	}
	return usage.Install(ctx, s.Kube, samplers)
}
