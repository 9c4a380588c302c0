// Package session is the user's side of a run: it starts the runner in the
// cluster, follows it, brings each trial home as it ends, replaces a runner
// that was lost, and removes everything at the end. It can be started again on
// the directory of a run that it was cut off from.
package session

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/run/transfer"
)

//go:embed runner.yaml
var runnerManifest string

// A Session is one run, seen from the user's machine.
type Session struct {
	Kube *kube.Client
	// Config is what the runner is told; Finished is filled in here.
	Config run.Config
	// Image is the runner's.
	Image string
	Dir   result.Directory
	// Realtime lets the runner give its prober's thread priority. It takes
	// root and CAP_SYS_NICE in the runner's pod, which not every cluster
	// allows.
	Realtime bool
	// Spare are labels whose bearers Remove leaves: implementations, which
	// are uninstalled in their own way.
	Spare []string
	// Progress shows what the runner is at.
	Progress *progress.Printer
	// Poll is how often the runner is asked; 0 means every second. Asking
	// costs the machine that measures, so not much faster.
	Poll time.Duration

	token string
	http  *http.Client
}

// Namespace is where a run's runner lives.
func Namespace(runID string) string { return "gatemark-" + runID }

// readyLimit bounds the start of the runner's pod.
const readyLimit = 2 * time.Minute

// askLimit bounds one question to the runner.
const askLimit = 15 * time.Second

// lostLimit is how long a runner may be out of reach before it counts as lost.
const lostLimit = 30 * time.Second

// Run sees the run through: it returns when every trial has its result here.
// A run that was begun before, by a session that is gone, is taken up.
func (s *Session) Run(ctx context.Context) error {
	for {
		if err := s.attach(ctx); err != nil {
			return err
		}
		err := s.follow(ctx)
		var lost lostError
		if !errors.As(err, &lost) {
			return err
		}
		s.Progress.Printf("the runner was lost: %v; starting another one", lost.error)
		if err := s.bury(ctx, lost); err != nil {
			return err
		}
	}
}

// attach finds the run's runner, or starts one.
func (s *Session) attach(ctx context.Context) (err error) {
	s.Config.Namespace = Namespace(s.Config.RunID)
	if s.http, err = rest.HTTPClientFor(s.Kube.Config); err != nil {
		return err
	}
	var secret corev1.Secret
	err = s.Kube.Get(ctx, s.key(), &secret)
	switch {
	case err == nil:
		s.token = string(secret.Data["token"])
	case apierrors.IsNotFound(err):
		s.token = rand.Text()
	default:
		return fmt.Errorf("find the runner: %w", err)
	}
	var pod corev1.Pod
	err = s.Kube.Get(ctx, s.key(), &pod)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("find the runner: %w", err)
	}
	if err != nil {
		if err := s.start(ctx); err != nil {
			return fmt.Errorf("start the runner: %w", err)
		}
	}
	return s.ready(ctx)
}

func (s *Session) start(ctx context.Context) error {
	finished, err := run.Outcomes(s.Dir)
	if err != nil {
		return err
	}
	config := s.Config
	config.Finished = finished
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	objects, err := kube.Render("runner.yaml", runnerManifest, map[string]any{
		"Namespace": config.Namespace, "Token": s.token, "Config": string(text), "Image": s.Image, "Realtime": s.Realtime,
		"AuditLog": config.AuditLog, "AuditDir": path.Dir(config.AuditLog),
	})
	if err != nil {
		return err
	}
	for _, o := range objects {
		kube.Own(o, config.RunID, "")
	}
	return kube.Apply(ctx, s.Kube, objects...)
}

func (s *Session) key() client.ObjectKey {
	return client.ObjectKey{Namespace: Namespace(s.Config.RunID), Name: "runner"}
}

func (s *Session) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	_, err := kube.Wait(ctx, s.Kube, "pod "+s.key().String(), s.key(), func(pod *corev1.Pod) (bool, string) {
		return pod.Status.Phase == corev1.PodRunning, podWords(pod)
	})
	return err
}

// podWords is what keeps a pod from running, in the kubelet's words.
func podWords(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil && w.Message != "" {
			return fmt.Sprintf("%s: %s", w.Reason, w.Message)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Status != corev1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	return string(pod.Status.Phase)
}

// A lostError says that a runner is gone with the trial that it had in hand.
type lostError struct {
	error
	last transfer.Status
}

func (l lostError) Unwrap() error { return l.error }

// follow asks the runner where it stands, and pulls what it has finished,
// until it is done.
func (s *Session) follow(ctx context.Context) error {
	poll := s.Poll
	if poll == 0 {
		poll = time.Second
	}
	home := &transfer.Client{Get: s.get}
	view := &view{printer: s.Progress, dir: s.Dir}
	defer view.end()
	var last transfer.Status
	answered := time.Now()
	for {
		status, err := home.Status(ctx)
		if err == nil {
			answered, last = time.Now(), status
			var pulled []string
			pulled, err = home.Pull(ctx, s.Dir, status.Trials)
			view.pulled(pulled)
			view.show(status)
			if err == nil && status.Error != "" {
				return fmt.Errorf("the runner gave up: %s", status.Error)
			}
			if err == nil && status.Done {
				return nil
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			gone := s.gone(ctx)
			if gone || time.Since(answered) > lostLimit {
				return lostError{err, last}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(poll):
		}
	}
}

// gone reports whether the runner's pod is known to be no more, or to never
// run again.
func (s *Session) gone(ctx context.Context) bool {
	var pod corev1.Pod
	err := s.Kube.Get(ctx, s.key(), &pod)
	return apierrors.IsNotFound(err) || err == nil &&
		(pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded)
}

// bury records the trial that a lost runner had in hand, and removes what is
// left of the runner.
func (s *Session) bury(ctx context.Context, lost lostError) error {
	if id := lost.last.Current; id != "" {
		if a, ok := s.attemptOf(id); ok {
			a.Began = lost.last.Since
			trial := run.Lost(s.Config.RunID, a, "the runner was lost during the trial: "+lost.Error())
			if err := s.Dir.WriteTrial(trial, nil); err != nil {
				return err
			}
		}
	}
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = s.key().Name, s.key().Namespace
	if err := s.Kube.Delete(ctx, pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the lost runner: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return kube.WaitGone[corev1.Pod](ctx, s.Kube, types.NamespacedName(s.key()))
}

// attemptOf finds the attempt of that name, if it is not here already.
func (s *Session) attemptOf(id string) (run.Attempt, bool) {
	finished, err := run.Outcomes(s.Dir)
	if err != nil {
		return run.Attempt{}, false
	}
	if _, have := finished[id]; have {
		return run.Attempt{}, false
	}
	for _, ref := range s.Config.Schedule {
		for n := 1; n <= run.MaxAttempts; n++ {
			if run.AttemptID(ref.ID, n) == id {
				return run.Attempt{Ref: ref, Number: n}, true
			}
		}
	}
	return run.Attempt{}, false
}

// get asks the runner through the API server's pod proxy.
func (s *Session) get(ctx context.Context, path string, query url.Values) (body []byte, checksum string, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	base, _, err := rest.DefaultServerUrlFor(s.Kube.Config)
	if err != nil {
		return nil, "", err
	}
	at := base.JoinPath("api/v1/namespaces", s.key().Namespace, "pods", s.key().Name+":8080", "proxy", path)
	at.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, "", err
	}
	req.Header.Set(transfer.TokenHeader, s.token)
	res, err := s.http.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		return nil, "", err
	}
	if res.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("%s: %s", res.Status, strings.TrimSpace(string(body)))
	}
	return body, res.Header.Get(transfer.ChecksumHeader), nil
}

// Remove deletes everything of the run from the cluster, with progress.
func (s *Session) Remove(ctx context.Context) error {
	return s.Progress.Do(ctx, "remove what the run made", func(ctx context.Context, update func(string, ...any)) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		_, err := kube.DeleteAll(ctx, s.Kube, kube.DeleteOptions{Owned: kube.OwnedBy(s.Config.RunID, ""), Except: s.Spare, Progress: update})
		return failure.Hint(err, "gatemark clean --run "+s.Config.RunID)
	})
}

// Outcomes counts the trials of the run that are here, by outcome; only the
// last attempt at each counts.
func (s *Session) Outcomes() (map[result.Outcome]int, error) {
	finished, err := run.Outcomes(s.Dir)
	if err != nil {
		return nil, err
	}
	counts := map[result.Outcome]int{}
	for _, ref := range s.Config.Schedule {
		var last result.Outcome
		for n := 1; n <= run.MaxAttempts; n++ {
			if o, ok := finished[run.AttemptID(ref.ID, n)]; ok {
				last = o
			}
		}
		if last != "" {
			counts[last]++
		}
	}
	return maps.Clone(counts), nil
}
