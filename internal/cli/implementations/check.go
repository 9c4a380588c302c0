package implementations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gatemark/gatemark/cluster"
	"github.com/gatemark/gatemark/cluster/local"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/kube"
)

type checkOptions struct {
	streams                         cli.Streams
	output                          cli.Output
	what, name, kubeconfig, context string
	noChart                         bool
}

func newCheck(streams cli.Streams) *cobra.Command {
	o := &checkOptions{streams: streams}
	cmd := &cobra.Command{
		Use:   "check NAME|DIR",
		Short: "Check the description of an implementation, by itself or against a cluster",
		Long: `check reads an implementation's folder and names every problem at once. Then it
renders the chart and looks whether what the description names is in it.

With --name, --context or --kubeconfig it also holds the description against a
cluster where the implementation runs: is the GatewayClass there and accepted,
do the selectors find pods, do the ports answer? It writes nothing there.

Exit codes: 0 nothing is wrong; 1 the cluster could not be asked; 2 something
is wrong.`,
		Example: `  gatemark implementations check envoy-gateway
  gatemark implementations check ./mine
  gatemark implementations check ./mine --context my-cluster`,
		Args: oneArgument("a name or a folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.what = args[0]
			return check(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&o.name, "name", "", "check against this local cluster too")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "check against a cluster of this kubeconfig too")
	flags.StringVar(&o.context, "context", "", "check against the cluster of this kubeconfig context too")
	flags.BoolVar(&o.noChart, "no-chart", false, "leave out the chart, which may have to be downloaded")
	cli.AddOutputFlag(cmd, &o.output)
	return cmd
}

// A line is one thing that was looked at.
type line struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	// Said is what was found, or what is wrong.
	Said string `json:"said"`
}

// lines collects them.
type lines []line

func (l *lines) good(what, format string, args ...any) {
	*l = append(*l, line{What: what, OK: true, Said: fmt.Sprintf(format, args...)})
}

func (l *lines) bad(what, format string, args ...any) {
	*l = append(*l, line{What: what, Said: fmt.Sprintf(format, args...)})
}

func (l lines) problems() int {
	n := 0
	for _, each := range l {
		if !each.OK {
			n++
		}
	}
	return n
}

func check(ctx context.Context, o *checkOptions) error {
	i, err := open(o.what)
	if err != nil && failure.CodeOf(err) != failure.Usage {
		return err
	}
	var found lines
	if err != nil {
		for problem := range strings.SplitSeq(err.Error(), "\n") {
			found.bad("description", "%s", problem)
		}
		return o.say(found, failure.Hints(err))
	}
	found.good("description", "%s %s, %s", i.Title, i.Version, counts(i))
	if !o.noChart {
		checkChart(ctx, i, &found)
	}
	if o.name != "" || o.kubeconfig != "" || o.context != "" {
		if err := o.againstCluster(ctx, i, &found); err != nil {
			return errors.Join(o.say(found, nil), err)
		}
	}
	return o.say(found, nil)
}

func open(what string) (*implementation.Implementation, error) {
	if implementation.IsFolder(what) {
		return implementation.LoadDirectory(what)
	}
	return implementation.Find(what)
}

func counts(i *implementation.Implementation) string {
	return fmt.Sprintf("%d images, %d variants, %d other versions, %d quirks, %d deviations",
		len(i.Images), len(i.Variants), len(i.Versions), len(i.Quirks), len(i.Deviations))
}

func (o *checkOptions) againstCluster(ctx context.Context, i *implementation.Implementation, found *lines) error {
	where, err := o.cluster()
	if err != nil {
		return err
	}
	c, err := kube.New(ctx, where.Config, kube.Agent("check"))
	if err != nil {
		return err
	}
	return checkCluster(ctx, c, i, found)
}

func (o *checkOptions) cluster() (*cluster.Cluster, error) {
	if o.kubeconfig != "" || o.context != "" {
		return cluster.FromKubeconfig(o.kubeconfig, o.context)
	}
	c, err := local.Find("", o.name)
	if err != nil {
		return nil, err
	}
	return cluster.FromLocal(c)
}

// say prints what was found. Problems are an error of the user's, whose lines
// are printed already.
func (o *checkOptions) say(found lines, hints []string) error {
	if o.output == cli.JSON {
		if err := o.streams.PrintJSON(found); err != nil {
			return err
		}
	} else {
		for _, l := range found {
			mark := "ok     "
			if !l.OK {
				mark = "WRONG  "
			}
			fmt.Fprintf(o.streams.Out, "%s %s: %s\n", mark, l.What, l.Said)
		}
	}
	n := found.problems()
	if n == 0 {
		return nil
	}
	noun := "problems"
	if n == 1 {
		noun = "problem"
	}
	err := fmt.Errorf("%s has %d %s", o.what, n, noun)
	for _, hint := range hints {
		err = failure.Hint(err, hint)
	}
	return failure.WithCode(err, failure.Usage)
}
