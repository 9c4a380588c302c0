// Package clean is the command that removes what runs left in a cluster.
package clean

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatemark/gatemark/cluster"
	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/run/park"
	"github.com/gatemark/gatemark/run/session"
	"github.com/spf13/cobra"
)

type options struct {
	streams cli.Streams
	output  cli.Output

	run                       string
	name, kubeconfig, context string
	force                     bool
	timeout                   time.Duration
}

// stuck is how long an object may be ending before --force takes its
// finalizers off.
const stuck = 15 * time.Second

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what runs left in a cluster",
		Long: `Bring back the implementations that runs set aside, and remove every object that
carries gatemark's label, and the implementations that gatemark installed: after
a crash, or after a run that was told to keep them.
Nothing else in the cluster is touched. It may be called again at any time.

With --run only what that run's trials and runner made is removed, and only what
it set aside is brought back; implementations stay.`,
		Example: `  gatemark clean
  gatemark clean --run 20260301-120000-abcd
  gatemark clean --context my-cluster`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.run, "run", "", "only what this run made")
	flags.StringVar(&o.name, "name", local.DefaultName, "name of the local cluster")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "clean a cluster of this kubeconfig instead of the local one")
	flags.StringVar(&o.context, "context", "", "clean the cluster of this kubeconfig context instead of the local one")
	flags.BoolVar(&o.force, "force", false, "end objects whose controller is gone, by taking their finalizers off")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "how long it may take")
	cli.AddOutputFlag(cmd, &o.output)
	return cmd
}

// A summary is what the command did, for --output json.
type summary struct {
	Cluster string `json:"cluster"`
	Deleted int    `json:"deleted"`
	// Restored names the implementations that were set aside.
	Restored []string `json:"restored,omitempty"`
	Forced   []string `json:"forced,omitempty"`
	Kept     []string `json:"kept,omitempty"`
	Skipped  []string `json:"skipped,omitempty"`
}

func run(ctx context.Context, o *options) error {
	where, err := o.cluster()
	if errors.Is(err, local.ErrNotFound) {
		return o.say(summary{}, fmt.Sprintf("there is no local cluster %s: nothing to clean", o.name))
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	done, err := o.clean(ctx, where)
	if err != nil {
		return fmt.Errorf("clean cluster %s: %w", where.Name, err)
	}
	return o.say(done, fmt.Sprintf("cluster %s is clean: %d objects removed", where.Name, done.Deleted))
}

func (o *options) cluster() (*cluster.Cluster, error) {
	if o.kubeconfig != "" || o.context != "" {
		return cluster.FromKubeconfig(o.kubeconfig, o.context)
	}
	c, err := local.Find("", o.name)
	if err != nil {
		return nil, err
	}
	return cluster.FromLocal(c)
}

// clean removes objects while the controllers that must let go of them still
// run, then the controllers, then what is left.
func (o *options) clean(ctx context.Context, where *cluster.Cluster) (summary, error) {
	out := summary{Cluster: where.Name}
	progress := o.streams.Progress()
	progress.Printf("cluster %s at %s: removing what is labelled %s", where.Name, where.Config.Host, kube.OwnedBy(o.run, ""))
	c, err := kube.New(ctx, where.Config, kube.Agent("clean"))
	if err != nil {
		return out, err
	}
	// A runner that lives could set aside again what is brought back.
	if err := session.EndRunners(ctx, c, o.run); err != nil {
		return out, err
	}
	if out.Restored, err = park.RestoreAll(ctx, c, "", o.run); err != nil {
		return out, err
	}
	remove := func(name string, d kube.DeleteOptions) error {
		if o.force {
			d.Force = stuck
		}
		return progress.Do(ctx, name, func(ctx context.Context, update func(string, ...any)) error {
			d.Progress = update
			removal, err := kube.DeleteAll(ctx, c, d)
			out.add(removal)
			return err
		})
	}
	if err := remove("remove what trials made", kube.DeleteOptions{Owned: kube.OwnedBy(o.run, ""), Except: []string{install.PartLabel}}); err != nil {
		return out, err
	}
	if o.run != "" {
		return out, nil
	}
	installer := &install.Installer{Config: where.Config, Progress: progress}
	if err := installer.Clean(ctx); err != nil {
		return out, err
	}
	return out, remove("remove what is left", kube.DeleteOptions{Owned: kube.OwnedBy("", "")})
}

func (s *summary) add(r kube.Removal) {
	s.Deleted += r.Deleted
	s.Forced = append(s.Forced, r.Forced...)
	s.Kept, s.Skipped = r.Kept, r.Skipped // the last look counts
}

func (o *options) say(done summary, text string) error {
	if o.output == cli.JSON {
		return o.streams.PrintJSON(done)
	}
	var lines []string
	for _, name := range done.Restored {
		lines = append(lines, "brought back "+name)
	}
	for _, name := range done.Forced {
		lines = append(lines, "finalizers taken off "+name)
	}
	for _, name := range done.Kept {
		lines = append(lines, "kept "+name)
	}
	for _, name := range done.Skipped {
		lines = append(lines, "could not look into "+name)
	}
	_, err := fmt.Fprintln(o.streams.Err, strings.Join(append(lines, text), "\n"))
	return err
}
