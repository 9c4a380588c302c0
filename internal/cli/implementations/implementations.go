// Package implementations is the command about what can be measured: a list, a
// folder to describe a new one in, and a check of such a folder, by itself and
// against a cluster.
package implementations

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/internal/cli"
)

// New returns the command with those below it.
func New(streams cli.Streams) *cobra.Command {
	var output cli.Output
	cmd := &cobra.Command{
		Use:   "implementations",
		Short: "List what can be measured; describe and check one of your own",
		Long: `implementations lists the implementations that gatemark brings along. One is
data: a folder with an implementation.yaml, and no code. A folder of your own
works wherever a name does:

  gatemark run --implementation ./mine`,
		Example: `  gatemark implementations
  gatemark implementations new mine
  gatemark implementations check ./mine
  gatemark implementations check ./mine --context my-cluster`,
		Args: cli.NoArgs,
		RunE: func(*cobra.Command, []string) error { return list(streams, output) },
	}
	cli.AddOutputFlag(cmd, &output)
	cmd.AddCommand(newNew(streams), newCheck(streams))
	return cmd
}

// A row is an implementation as it is listed.
type row struct {
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	Version      string   `json:"version"`
	Versions     []string `json:"otherVersions,omitempty"`
	Variants     []string `json:"variants,omitempty"`
	GatewayClass string   `json:"gatewayClass"`
	Controller   string   `json:"controllerName"`
	DataPlane    string   `json:"dataPlaneProxy"`
	// Tested: somebody has measured it by this description.
	Tested bool `json:"tested"`
	// Untested says why not.
	Untested string `json:"untested,omitempty"`
}

func list(streams cli.Streams, output cli.Output) error {
	all, err := implementation.Catalogue()
	if err != nil {
		return err
	}
	rows := []row{}
	for _, i := range all {
		r := row{
			Name: i.Name, Title: i.Title, Version: i.Version, GatewayClass: i.GatewayClass.Name, Controller: i.GatewayClass.ControllerName,
			DataPlane: strings.TrimSpace(i.Project.DataPlaneProxy + " " + i.Project.DataPlaneProxyVersion),
			Tested:    i.Untested == "", Untested: i.Untested,
		}
		for _, v := range i.Versions {
			r.Versions = append(r.Versions, v.Version)
		}
		for _, v := range i.Variants {
			r.Variants = append(r.Variants, v.Name)
		}
		rows = append(rows, r)
	}
	if output == cli.JSON {
		return streams.PrintJSON(rows)
	}
	return print(streams.Out, rows)
}

func print(w io.Writer, rows []row) error {
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tVERSION\tTESTED\tDATA PLANE\tVARIANTS\tOTHER VERSIONS")
	for _, r := range rows {
		tested := "here"
		if !r.Tested {
			tested = "untested here"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Name, r.Version, tested, r.DataPlane, words(r.Variants), words(r.Versions))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range rows {
		if !r.Tested {
			fmt.Fprintf(w, "\n%s is untested here: %s", r.Name, r.Untested)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

func words(all []string) string {
	if len(all) == 0 {
		return "-"
	}
	return strings.Join(all, ", ")
}
