package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/cluster"
	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	engine "github.com/gatemark/gatemark/run"
)

// sessionFile is what a later session needs to take up a run.
const sessionFile = "session.json"

type savedSession struct {
	Config engine.Config `json:"config"`
	Image  string        `json:"image"`
}

func saveSession(dir result.Directory, config engine.Config, image string) error {
	data, err := json.MarshalIndent(savedSession{config, image}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(string(dir), sessionFile), data, 0o644)
}

func readSession(dir result.Directory) (*savedSession, error) {
	data, err := os.ReadFile(filepath.Join(string(dir), sessionFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s holds no run that got as far as measuring", dir)
		return nil, failure.WithCode(failure.Hint(err, "start it anew with gatemark run"), failure.Usage)
	}
	if err != nil {
		return nil, err
	}
	saved := new(savedSession)
	if err := json.Unmarshal(data, saved); err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Join(string(dir), sessionFile), err)
	}
	return saved, nil
}

// resume takes up a run whose session is gone. The runner may have gone on
// measuring meanwhile; the trials that it finished are brought home first.
func resume(ctx context.Context, o *options) error {
	path, err := filepath.EvalSymlinks(o.resume)
	if err != nil {
		return failure.WithCode(fmt.Errorf("--resume: %w", err), failure.Usage)
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	c := &conductor{options: o, progress: o.streams.Progress(), dir: result.Directory(path), images: &image.Builder{}}
	saved, err := readSession(c.dir)
	if err != nil {
		return err
	}
	if c.run, err = c.dir.ReadRun(); err != nil {
		return err
	}
	c.plan = saved.Config.Plan
	if err := c.findCluster(ctx); err != nil {
		return err
	}
	if err := c.checkInstalled(ctx, saved.Config); err != nil {
		return err
	}
	c.run.Ended = nil
	c.run.Notes = slices.DeleteFunc(c.run.Notes, func(note string) bool { return strings.HasPrefix(note, notCompleted) })
	c.installer = &install.Installer{Config: c.cluster.Config, Images: c.images, LoadImage: c.cluster.LoadImage, Progress: c.progress, Run: c.run.ID}
	c.cleanAll = true
	c.session = c.newSession(saved.Config)
	return c.finish(ctx, c.session.Run(ctx))
}

// checkInstalled refuses to measure implementations that are not there any
// more: a session that could tidy up has removed them, and trials without them
// would accuse them.
func (c *conductor) checkInstalled(ctx context.Context, config engine.Config) error {
	finished, err := engine.Outcomes(c.dir)
	if err != nil || engine.Remaining(config.Schedule, finished) == 0 {
		return err
	}
	for treatment, target := range config.Targets {
		// What every installation of one has.
		var shows client.Object = &corev1.Namespace{}
		what, name := "namespace", target.ControlPlane.Namespace
		if target.GatewayClass != "" {
			shows, what, name = &gatewayv1.GatewayClass{}, "GatewayClass", target.GatewayClass
		}
		err := c.kube.Get(ctx, client.ObjectKey{Name: name}, shows)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			err = fmt.Errorf("%s is not installed any more: cluster %s has no %s %s", treatment, c.cluster.Name, what, name)
			return failure.Hint(err, "the session that ended removed it; start a new run with gatemark run")
		}
		if err != nil {
			return fmt.Errorf("look for %s: %w", treatment, err)
		}
	}
	return nil
}

// findCluster reaches the cluster of the run, which must be there still.
func (c *conductor) findCluster(ctx context.Context) error {
	env := c.run.Environment.Cluster
	if env.Kind == cluster.Local {
		found, err := local.Find("", env.Name)
		if err != nil {
			return err
		}
		if c.cluster, err = cluster.FromLocal(found); err != nil {
			return err
		}
	} else {
		var err error
		if c.context == "" {
			c.context = env.Name
		}
		if c.cluster, err = cluster.FromKubeconfig(c.kubeconfig, c.context); err != nil {
			return err
		}
	}
	var err error
	c.kube, err = kube.New(ctx, c.cluster.Config)
	return err
}
