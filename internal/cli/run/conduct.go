package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/cluster"
	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/report"
	"github.com/gatemark/gatemark/result"
	engine "github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/run/session"
	"github.com/gatemark/gatemark/scenario/question"
)

// cleanupLimit bounds what is done after an interruption.
const cleanupLimit = 3 * time.Minute

// A conductor takes one run from its plan to its report.
type conductor struct {
	*options
	progress *progress.Printer
	plan     *plan.Plan
	dir      result.Directory
	run      *result.Run

	cluster   *cluster.Cluster
	kube      *kube.Client
	images    *image.Builder
	installer *install.Installer
	// subjects are what is measured, one for a treatment and its copies.
	subjects []*subject
	// installed is in the order of the installation.
	installed []*install.Installed
	// parkable is what may be set aside, by the treatment without its copy.
	parkable map[string]park.Installation
	// cleanAll: what is installed was installed by an earlier session.
	cleanAll bool
	session  *session.Session
}

func newConductor(o *options, p *plan.Plan) (*conductor, error) {
	choice, err := image.ParseChoice(o.images)
	if err != nil {
		return nil, failure.WithCode(fmt.Errorf("--images: %w", err), failure.Usage)
	}
	c := &conductor{options: o, progress: o.streams.Progress(), plan: p, parkable: map[string]park.Installation{}}
	c.images = &image.Builder{Choice: choice, Progress: c.progress}
	raw, err := p.JSON()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	c.run = &result.Run{
		SchemaVersion: result.SchemaVersion,
		ID:            now.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:4]),
		Started:       now, Plan: raw, Command: os.Args, Seed: p.Seed, Schedule: engine.Schedule(p),
		Implementations: map[string]result.Implementation{}, Scenarios: map[string]result.Scenario{},
	}
	for _, s := range p.Scenarios {
		c.run.Scenarios[s.Name] = question.Find(s.Name).Scenario
	}
	dir := o.outputDir
	if dir == "" {
		dir = filepath.Join("runs", c.run.ID)
	}
	if c.dir, err = freshDirectory(dir); err != nil {
		return nil, err
	}
	return c, nil
}

// freshDirectory refuses one that holds another run: results are not mixed.
func freshDirectory(path string) (result.Directory, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(path, "run.json")); err == nil {
		err := fmt.Errorf("%s holds a run already", path)
		return "", failure.WithCode(failure.Hint(err, "go on with it: gatemark run --resume "+path), failure.Usage)
	}
	return result.Directory(path), nil
}

// conduct does everything, and tidies up whatever happens.
func (c *conductor) conduct(ctx context.Context) error {
	err := c.prepare(ctx)
	if err == nil {
		err = c.session.Run(ctx)
	}
	return c.finish(ctx, err)
}

// finish tidies up and reports what there is, also after an error.
func (c *conductor) finish(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		c.progress.Printf("interrupted; tidying up (once more to stop at once)")
	}
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	err = errors.Join(err, c.tidy(tidy))
	return errors.Join(err, c.report(err))
}

func (c *conductor) prepare(ctx context.Context) error {
	if err := c.openCluster(ctx); err != nil {
		return err
	}
	if err := c.findSubjects(ctx); err != nil {
		return err
	}
	if err := c.confirm(); err != nil {
		return err
	}
	runner, err := c.ownImage(ctx)
	if err != nil {
		return err
	}
	if err := c.installAll(ctx); err != nil {
		return err
	}
	targets, err := c.targets()
	if err != nil {
		return err
	}
	if c.run.Environment, err = environment(ctx, c.cluster, c.kube); err != nil {
		return err
	}
	api, err := kube.FindGatewayAPI(ctx, c.kube)
	if err != nil {
		return err
	}
	c.run.Environment.GatewayAPI = result.GatewayAPI{Version: api.Version, Channel: api.Channel}
	c.run.Environment.Isolation = c.plan.Isolation
	c.run.Environment.Placement = append(c.run.Environment.Placement, c.isolationWords())
	for _, name := range slices.Sorted(maps.Keys(c.parkable)) {
		words, err := cpuWords(ctx, c.kube, c.parkable[name])
		if err != nil {
			return err
		}
		c.run.Environment.Placement = append(c.run.Environment.Placement, words...)
	}
	c.run.Environment.Runner = runner
	if err := c.dir.WriteRun(c.run); err != nil {
		return err
	}
	if err := c.skip(); err != nil {
		return err
	}
	c.session = c.newSession(engine.Config{
		RunID: c.run.ID, Plan: c.plan, Schedule: c.run.Schedule, Targets: targets, Installed: c.parkable,
		EchoImage: runner.Ref, AuditLog: c.cluster.AuditLog,
	})
	// A later session can go on from here without this one.
	return saveSession(c.dir, c.session.Config, c.session.Image)
}

func (c *conductor) newSession(config engine.Config) *session.Session {
	return &session.Session{Kube: c.kube, Config: config, Image: c.run.Environment.Runner.Ref, Dir: c.dir, Progress: c.progress,
		Realtime: c.cluster.AllowRealtime, Spare: []string{install.PartLabel}}
}

func (c *conductor) openCluster(ctx context.Context) (err error) {
	if c.kubeconfig == "" && c.context == "" {
		made, err := local.Up(ctx, local.Options{Name: c.name, Progress: c.progress})
		if err != nil {
			return err
		}
		if made.Mode() != local.Full {
			return failure.Hint(fmt.Errorf("local cluster %s is a control plane only: it cannot run pods", c.name), "gatemark down --name "+c.name)
		}
		c.cluster, err = cluster.FromLocal(made)
		if err != nil {
			return err
		}
	} else {
		if c.cluster, err = cluster.FromKubeconfig(c.kubeconfig, c.context); err != nil {
			return err
		}
		if err := c.answerable(); err != nil {
			return err
		}
	}
	c.kube, err = kube.New(ctx, c.cluster.Config)
	return err
}

// tidy removes what the run put into the cluster.
func (c *conductor) tidy(ctx context.Context) error {
	var problems []error
	if c.session != nil {
		problems = append(problems, c.session.Remove(ctx))
	}
	if c.keep {
		return errors.Join(problems...)
	}
	if c.cleanAll {
		problems = append(problems, c.installer.Clean(ctx))
	}
	// Backwards: the first of several versions has the definitions of all.
	for _, installed := range slices.Backward(c.installed) {
		if err := c.installer.Uninstall(ctx, installed); err != nil {
			problems = append(problems, failure.Hint(fmt.Errorf("uninstall %s: %w", installed.Part, err), "gatemark clean"))
		}
	}
	return errors.Join(problems...)
}

// notCompleted begins the note on a run that ended too early.
const notCompleted = "The run was not completed: "

// report writes the run's end and the reports, and prints the short form.
func (c *conductor) report(failed error) error {
	if _, err := os.Stat(filepath.Join(string(c.dir), "run.json")); err != nil {
		return nil // nothing was begun that a report could show
	}
	now := time.Now()
	c.run.Ended = &now
	if failed != nil {
		c.run.Notes = append(c.run.Notes, notCompleted+failed.Error())
	}
	if err := c.dir.WriteRun(c.run); err != nil {
		return err
	}
	if err := report.Write(c.dir); err != nil {
		return err
	}
	if err := latest(c.dir); err != nil {
		return err
	}
	trials, err := c.dir.ReadTrials()
	if err != nil {
		return err
	}
	if c.output == cli.JSON {
		err = c.streams.PrintJSON(result.Document{SchemaVersion: result.SchemaVersion, Run: c.run, Trials: trials})
	} else {
		width, color := cli.Terminal(c.streams.Out)
		err = report.Terminal(c.streams.Out, c.run, trials, report.Options{Width: width, Color: color, Directory: c.dir})
	}
	if err != nil || failed != nil || c.session == nil {
		return err
	}
	return c.verdict()
}

// verdict is the exit code of a completed run.
func (c *conductor) verdict() error {
	counts, err := c.session.Outcomes()
	if err != nil {
		return err
	}
	if n := counts[result.Invalid]; n > 0 {
		err := fmt.Errorf("%d of %d trials were still invalid after %d attempts", n, len(c.run.Schedule), engine.MaxAttempts)
		return failure.WithCode(failure.Hint(err, "the report names the gate that each one failed"), failure.Invalid)
	}
	return c.missing()
}

// latest points runs/latest at a run that lies in runs.
func latest(dir result.Directory) error {
	parent, name := filepath.Split(string(dir))
	if filepath.Base(parent) != "runs" {
		return nil
	}
	temporary := filepath.Join(parent, ".latest-"+name)
	if err := os.Symlink(name, temporary); err != nil {
		return err
	}
	return os.Rename(temporary, filepath.Join(parent, "latest"))
}
