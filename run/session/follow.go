package session

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/run/transfer"
)

// A lostError says that a runner is gone with the trial that it had in hand.
type lostError struct {
	error
	last transfer.Status
}

func (l lostError) Unwrap() error { return l.error }

// A follower follows one runner.
type follower struct {
	*Session
	home     *transfer.Client
	view     *view
	patience *patience
	last     transfer.Status
}

// follow asks the runner where it stands, and pulls what it has finished,
// until it is done.
func (s *Session) follow(ctx context.Context) error {
	pause := s.Poll
	if pause == 0 {
		pause = time.Second
	}
	f := &follower{
		Session: s, home: &transfer.Client{Get: s.get, Pause: s.limits.pause},
		view: &view{printer: s.Progress, dir: s.Dir}, patience: &patience{limits: s.limits.orDefaults()},
	}
	defer f.view.end()
	for {
		done, err := f.poll(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// poll asks once. Its errors are final: trouble that may pass is none.
func (f *follower) poll(ctx context.Context) (done bool, err error) {
	status, err := f.home.Status(ctx)
	if err != nil {
		return false, f.silence(ctx, err)
	}
	f.last = status
	f.patience.answered()
	pulled, err := f.home.Pull(ctx, f.Dir, status.Trials)
	f.view.pulled(pulled)
	f.view.show(status)
	if err != nil {
		f.view.say("%v; trying again", err)
		return false, f.resumable(f.patience.transferDamaged(err))
	}
	f.patience.whole()
	f.view.said = "" // trouble that comes again is said again
	if status.Error != "" {
		return false, fmt.Errorf("the runner gave up: %s", status.Error)
	}
	return status.Done, nil
}

// silence decides what it means that the runner did not answer: nothing yet, a
// lost runner, or the end.
func (f *follower) silence(ctx context.Context, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	var pod corev1.Pod
	err := f.Kube.Get(ctx, f.key(), &pod)
	switch {
	case apierrors.IsNotFound(err), err == nil && ended(&pod):
		return lostError{cause, f.last}
	case err != nil:
		f.view.say("the cluster is out of reach; trying again")
		return f.resumable(f.patience.clusterAway(err))
	case f.patience.runnerSilent():
		return lostError{cause, f.last}
	}
	return nil
}

// resumable adds to an error how to go on later.
func (s *Session) resumable(err error) error {
	return failure.Hint(err, "go on with it later: gatemark run --resume "+string(s.Dir))
}

// bury removes what is left of a lost runner, and records the trial that it
// had in hand: in this order, because while there is a runner, it may yet
// finish the trial.
func (s *Session) bury(ctx context.Context, lost lostError) error {
	if err := s.removePod(ctx); err != nil {
		return fmt.Errorf("remove the lost runner: %w", err)
	}
	a, ok := run.FindAttempt(s.Config.Schedule, lost.last.Current)
	if !ok { // it was between two trials, or never answered
		return nil
	}
	finished, err := run.Outcomes(s.Dir)
	if err != nil {
		return err
	}
	if _, have := finished[a.ID()]; have {
		return nil
	}
	a.Began = lost.last.Since
	return s.Dir.WriteTrial(run.Lost(s.Config.RunID, a, "the runner was lost during the trial: "+lost.Error()), nil)
}

func (s *Session) removePod(ctx context.Context) error {
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = s.key().Name, s.key().Namespace
	if err := s.Kube.Delete(ctx, pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return kube.WaitGone[corev1.Pod](ctx, s.Kube, types.NamespacedName(s.key()))
}
