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
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/run/park"
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
	// Realtime, if it is not nil, lets the runner give its prober's thread
	// priority: its pod gets root and CAP_SYS_NICE, which not every cluster
	// allows, and once it runs Realtime is called with the pod's UID and the
	// container's ID.
	Realtime func(uid, container string) error
	// Spare are labels whose bearers Remove leaves: implementations, which
	// are uninstalled in their own way.
	Spare []string
	// Progress shows what the runner is at.
	Progress *progress.Printer
	// Poll is how often the runner is asked; 0 means every second. Asking
	// costs the machine that measures, so not much faster.
	Poll time.Duration

	token  string
	http   *http.Client
	limits limits
}

// Namespace is where a run's runner lives.
func Namespace(runID string) string { return "gatemark-" + runID }

// readyLimit bounds the start of the runner's pod.
const readyLimit = 2 * time.Minute

// askLimit bounds one question to the runner.
const askLimit = 15 * time.Second

// barrenLimit is how many runners in a row may be lost without a result from
// any: another one would fare no better.
const barrenLimit = 3

// Run sees the run through: it returns when every trial has its result here.
// A run that was begun before, by a session that is gone, is taken up.
func (s *Session) Run(ctx context.Context) error {
	barren, had := 0, -1
	for {
		if err := s.attach(ctx); err != nil {
			return err
		}
		err := s.follow(ctx)
		var lost lostError
		if !errors.As(err, &lost) {
			return err
		}
		s.Progress.Printf("the runner was lost: %v", lost.error)
		if err := s.bury(ctx, lost); err != nil {
			return err
		}
		finished, err := run.Outcomes(s.Dir)
		if err != nil {
			return err
		}
		if barren++; len(finished) != had {
			barren, had = 1, len(finished)
		}
		if barren >= barrenLimit {
			return fmt.Errorf("%d runners in a row were lost without a result, the last one: %w", barren, lost.error)
		}
		s.Progress.Printf("starting another runner")
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
	s.Config.Finished = finished
	if err := s.chooseUsage(ctx); err != nil {
		return err
	}
	objects, err := s.objects()
	if err != nil {
		return err
	}
	if err := kube.Apply(ctx, s.Kube, objects...); err != nil {
		return err
	}
	return s.startSamplers(ctx)
}

// objects are the runner and what it needs, its namespace first.
func (s *Session) objects() ([]*unstructured.Unstructured, error) {
	config := s.Config
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	rights, err := config.Rights()
	if err != nil {
		return nil, err
	}
	objects, err := kube.Render("runner.yaml", runnerManifest, map[string]any{
		"Namespace": config.Namespace, "Token": s.token, "Config": string(text), "Image": s.Image, "Realtime": s.Realtime != nil,
		"AuditLog": config.AuditLog, "AuditDir": path.Dir(config.AuditLog), "Kubelets": config.Kubelets, "Rights": rights,
	})
	for _, o := range objects {
		kube.Own(o, config.RunID, "")
	}
	return objects, err
}

func (s *Session) key() client.ObjectKey {
	return client.ObjectKey{Namespace: Namespace(s.Config.RunID), Name: "runner"}
}

func (s *Session) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	pod, err := kube.Wait(ctx, s.Kube, "pod "+s.key().String(), s.key(), func(pod *corev1.Pod) (bool, string) {
		// One that has ended is follow's to find.
		return pod.Status.Phase == corev1.PodRunning || ended(pod), podWords(pod)
	})
	if err != nil || s.Realtime == nil || ended(pod) || len(pod.Status.ContainerStatuses) == 0 {
		return err
	}
	_, container, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	if err := s.Realtime(string(pod.UID), container); err != nil {
		// The prober is less punctual without it, and measures how punctual it is.
		s.Progress.Printf("the runner's prober gets no priority: %v", err)
	}
	return nil
}

// ended reports whether a pod will never run again.
func ended(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
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

// Remove brings back what the run set aside, and deletes everything of it from
// the cluster, with progress.
func (s *Session) Remove(ctx context.Context) error {
	return s.Progress.Do(ctx, "remove what the run made", func(ctx context.Context, update func(string, ...any)) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
		defer cancel()
		update("ending the runner")
		if err := s.removePod(ctx); err != nil {
			return fmt.Errorf("end the runner: %w", err)
		}
		// Control planes are needed to let go of what is deleted next.
		if _, err := park.RestoreAll(ctx, s.Kube, s.key().Namespace, s.Config.RunID); err != nil {
			return failure.Hint(err, "gatemark clean --run "+s.Config.RunID)
		}
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
	return counts, nil
}

// EndRunners ends the runner of a run, or of every run where run is empty, of
// which no session needs to be alive.
func EndRunners(ctx context.Context, c *kube.Client, run string) error {
	runners := kube.OwnedBy(run, "")
	runners["app"] = "runner"
	ours := client.MatchingLabels(runners)
	var pods corev1.PodList
	if err := c.List(ctx, &pods, ours); err != nil {
		return fmt.Errorf("find runners: %w", err)
	}
	for i := range pods.Items {
		if err := c.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("end %s: %w", kube.Describe(&pods.Items[i]), err)
		}
	}
	if len(pods.Items) == 0 {
		return nil
	}
	return kube.WaitAll(ctx, c, "the end of runners", []client.ListOption{ours}, func(left []*corev1.Pod) (bool, string) {
		return len(left) == 0, fmt.Sprintf("%d left", len(left))
	})
}
