// Package run is the command that measures: from a plan to a report, on a
// cluster that the user names or on a local one that it makes.
package run

import (
	"context"
	"time"

	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/spf13/cobra"
)

type options struct {
	streams cli.Streams
	output  cli.Output
	// given tells whether the user set a flag.
	given func(flag string) bool

	// What to run.
	planFile, profile string
	scenarios         []string
	implementations   []string
	set               []string
	address           string
	repeats           int
	isolation         string
	seed              uint64
	budget            time.Duration
	dryRun            bool

	// Where to run it.
	name, kubeconfig, context string
	yes                       bool
	images                    string
	runnerImage               string
	keep                      bool
	installTimeout            time.Duration

	// Where the results go.
	outputDir string
	resume    string
}

// New returns the command.
func New(streams cli.Streams) *cobra.Command {
	o := &options{streams: streams}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Measure implementations, and write a report",
		Long: `Run a plan: install each implementation, measure it with each scenario in
randomised blocks, remove it again, and write a report.

What the cluster has already is found by its GatewayClass, and measured as it
is: nothing of it is installed, stopped or removed.

Without flags it runs the profile smoke on a local cluster, which it makes
where there is none. With --kubeconfig or --context it runs on that cluster:
it names it first, and says what it will do.

A run that was cut off goes on with --resume and its directory.

Exit codes: 0 the run was completed, with findings or without; 1 it could not
run; 2 the plan or a flag is wrong; 4 trials were still invalid after their
repeats; 130 interrupted.`,
		Example: `  gatemark run
  gatemark run --profile standard --budget 30m
  gatemark run --scenario route-propagation --set route-propagation.routes=3000
  gatemark run --implementation envoy-gateway/gateway-namespace --dry-run
  gatemark run --implementation envoy-gateway,envoy-gateway@v1.9.0
  gatemark run --implementation ./mine
  gatemark run --plan my-plan.yaml --context my-cluster`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.given = cmd.Flags().Changed
			if o.resume != "" {
				if err := failure.Problems(notForResume(cmd.Flags())); err != nil {
					return err
				}
				return resume(cmd.Context(), o)
			}
			return run(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.planFile, "plan", "", "file with a plan (YAML); - is standard input")
	flags.StringVar(&o.profile, "profile", "", "built-in plan: smoke (the default), standard or seed")
	flags.StringSliceVar(&o.scenarios, "scenario", nil, "only these scenarios, with the plan's parameters or the defaults")
	flags.StringSliceVar(&o.implementations, "implementation", nil, "these implementations instead of the plan's: NAME[@VERSION][/VARIANT][=CHECKOUT], the path of a folder, or class/NAME for what serves a GatewayClass; with #2 behind it, once more")
	flags.StringVar(&o.address, "address", "", "where Gateways answer, if their status has no address: a host or IP address; {{.Namespace}} and {{.Name}} are the Gateway's")
	flags.StringArrayVar(&o.set, "set", nil, "set a parameter: SCENARIO.PARAMETER=VALUE")
	flags.IntVar(&o.repeats, "repeats", 0, "how often each trial is repeated, in randomised blocks")
	flags.StringVar(&o.isolation, "isolation", "", "parked, coresident or joined")
	flags.Uint64Var(&o.seed, "seed", 0, "seed of the order of the trials; 0 takes one from the clock")
	flags.DurationVar(&o.budget, "budget", 0, "as many repeats as fit into this time, by estimate")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be done: objects, writes and estimated time")
	flags.StringVar(&o.name, "name", local.DefaultName, "name of the local cluster")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "run on a cluster of this kubeconfig instead of a local one")
	flags.StringVar(&o.context, "context", "", "run on the cluster of this kubeconfig context instead of a local one")
	flags.BoolVarP(&o.yes, "yes", "y", false, "write to a cluster that gatemark did not make without asking")
	flags.StringVar(&o.images, "images", string(image.Auto), "where images come from: official, source, or auto (official where an image registry answers)")
	flags.StringVar(&o.runnerImage, "image", "", "image of gatemark for the runner and the backends, where nodes can only pull")
	flags.DurationVar(&o.installTimeout, "install-timeout", install.DefaultDeadline, "how long each step of an installation may take: a control plane that does not come up is left out then")
	flags.BoolVar(&o.keep, "keep", false, "leave the implementations installed")
	flags.StringVar(&o.outputDir, "output-dir", "", "directory for the results (default runs/RUN-ID)")
	flags.StringVar(&o.resume, "resume", "", "go on with the run in this directory")
	cli.AddOutputFlag(cmd, &o.output)
	return cmd
}

func run(ctx context.Context, o *options) error {
	p, err := resolve(o)
	if err != nil {
		return err
	}
	if o.dryRun {
		return dryRun(o, p)
	}
	c, err := newConductor(o, p)
	if err != nil {
		return err
	}
	return c.conduct(ctx)
}
