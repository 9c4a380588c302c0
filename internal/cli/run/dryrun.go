package run

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/plan"
	engine "github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/question"
	"sigs.k8s.io/yaml"
)

// dryRun says what a run of the plan would do.
func dryRun(o *options, p *plan.Plan) error {
	schedule := engine.Schedule(p)
	total := setUp + estimate(p)*time.Duration(p.Repeats)
	if o.output == cli.JSON {
		return o.streams.PrintJSON(map[string]any{"plan": p, "schedule": schedule, "estimatedSeconds": total.Seconds(), "writes": writes(p)})
	}
	text, err := yaml.Marshal(p)
	if err != nil {
		return err
	}
	w := o.streams.Out
	fmt.Fprintf(w, "The plan, with every default:\n\n%s\n", indent(string(text)))
	fmt.Fprintf(w, "%d trials, in this order:\n\n", len(schedule))
	for _, ref := range schedule {
		fmt.Fprintf(w, "  %s\n", ref.ID)
	}
	fmt.Fprintf(w, "\nWrites to the cluster, beside the installation of %s:\n\n", treatments(p))
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	for _, row := range writes(p) {
		fmt.Fprintf(table, "\t%d\t %s %s\n", row.Count, row.Verb, row.Kind)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nAbout %s, a first build of images not included.\n", total.Round(time.Second))
	return err
}

// writes sums what all trials write, in the order of the first.
func writes(p *plan.Plan) []scenario.Write {
	var rows []scenario.Write
	at := map[[2]string]int{}
	for _, t := range p.Scenarios {
		for _, w := range append(question.Find(t.Name).Writes(t.Parameters), engine.CanaryWrite) {
			w.Count *= p.Repeats * len(p.Implementations)
			key := [2]string{w.Verb, w.Kind}
			if i, ok := at[key]; ok {
				rows[i].Count += w.Count
				continue
			}
			at[key] = len(rows)
			rows = append(rows, w)
		}
	}
	return rows
}

func treatments(p *plan.Plan) string {
	var names []string
	for _, t := range p.Implementations {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ") + "\n"
}
