package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/load/loadbench/attack"
	"github.com/gatemark/gatemark/load/loadbench/bench"
	"github.com/gatemark/gatemark/load/loadbench/tables"
	"github.com/spf13/cobra"
)

type measureOptions struct {
	gatemark, folder, output string
	tables, tools            []string
	quick, full, markdown    bool
	rounds                   int
	duration                 time.Duration
	connections              []int
	seed                     uint64
}

func measureCommand() *cobra.Command {
	var o measureOptions
	c := &cobra.Command{
		Use:   "loadbench",
		Short: "Compare gatemark's load engine with other load generators",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return measure(c.Context(), o, c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.BoolVar(&o.quick, "quick", false, "less than three minutes in all (the default)")
	f.BoolVar(&o.full, "full", false, "six rounds, all numbers of connections, both paths, and ten minutes for memory: about an hour")
	f.StringSliceVar(&o.tables, "table", bench.Tables(), "what to measure")
	f.StringSliceVar(&o.tools, "tool", nil, "what to compare (default: all that there are); gatemark stands for both its engines")
	f.IntVar(&o.rounds, "rounds", 0, "rounds of each table of cost (default: as the form has it)")
	f.DurationVar(&o.duration, "duration", 0, "length of a run in the tables of cost, in whole seconds (default: as the form has it)")
	f.IntSliceVar(&o.connections, "connections", nil, "numbers of connections in the table of cost (default: as the form has it)")
	f.Uint64Var(&o.seed, "seed", 1, "of the order within rounds and of random delays")
	f.StringVar(&o.gatemark, "gatemark", "bin/gatemark", "the executable under test")
	f.StringVar(&o.folder, "folder", defaultFolder(), "where hack/install-bench-packages has put the others")
	f.BoolVar(&o.markdown, "markdown", false, "print tables as Markdown")
	f.StringVar(&o.output, "output", "", "write everything that was measured to this file, as JSON")
	return c
}

func defaultFolder() string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ".bench"
	}
	return filepath.Join(cache, "gatemark", "bench")
}

func (o measureOptions) resolve(stderr io.Writer) (bench.Options, error) {
	var problems []error
	if o.quick && o.full {
		problems = append(problems, errors.New("--quick and --full exclude each other"))
	}
	for _, t := range o.tables {
		if !slices.Contains(bench.Tables(), t) {
			problems = append(problems, fmt.Errorf("--table %q is not one of %s", t, strings.Join(bench.Tables(), ", ")))
		}
	}
	if o.duration%time.Second != 0 || o.duration < 0 || o.duration > time.Minute {
		problems = append(problems, fmt.Errorf("--duration %v: want whole seconds, up to 1m: some tools know no others", o.duration))
	}
	if o.rounds < 0 || o.rounds > 100 {
		problems = append(problems, fmt.Errorf("--rounds %d is not between 1 and 100", o.rounds))
	}
	for _, n := range o.connections {
		if n < 1 || n > 10000 {
			problems = append(problems, fmt.Errorf("--connections %d is not between 1 and 10000", n))
		}
	}
	tools := attack.All()
	if len(o.tools) > 0 {
		var err error
		if tools, err = attack.ByName(o.tools); err != nil {
			problems = append(problems, fmt.Errorf("--tool: %w", err))
		}
	}
	self, err := os.Executable()
	if err != nil {
		problems = append(problems, err)
	}
	return bench.Options{
		Finder: bench.Finder{Gatemark: o.gatemark, Self: self, Folder: o.folder},
		Tables: o.tables, Tools: tools, Full: o.full,
		Rounds: o.rounds, Duration: o.duration, Connections: o.connections, Seed: o.seed,
		Progress: progress.New(stderr),
	}, failure.Problems(problems)
}

func measure(ctx context.Context, o measureOptions, stdout, stderr io.Writer) error {
	options, err := o.resolve(stderr)
	if err != nil {
		return err
	}
	results, err := bench.Measure(ctx, options)
	if results == nil {
		return err
	}
	if o.output != "" {
		err = errors.Join(err, writeResults(o.output, results))
	}
	err = errors.Join(err, tables.Write(stdout, format(o.markdown), tables.All(results)))
	if failed := results.Failures(); len(failed) > 0 {
		err = errors.Join(err, fmt.Errorf("%d runs failed, the first is %s", len(failed), failed[0]))
	}
	return err
}

func format(markdown bool) tables.Format {
	if markdown {
		return tables.Markdown
	}
	return tables.Text
}

func writeResults(path string, results *bench.Results) error {
	text, err := json.MarshalIndent(results, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

func reportCommand() *cobra.Command {
	var markdown bool
	c := &cobra.Command{
		Use:   "report FILE",
		Short: "Print the tables of a file that --output has written",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			var results bench.Results
			if err := json.Unmarshal(text, &results); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if results.Schema != bench.Schema {
				return fmt.Errorf("%s has schema %d; this program reads %d", args[0], results.Schema, bench.Schema)
			}
			return tables.Write(c.OutOrStdout(), format(markdown), tables.All(&results))
		},
	}
	c.Flags().BoolVar(&markdown, "markdown", false, "print tables as Markdown")
	return c
}
