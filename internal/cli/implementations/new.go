package implementations

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/failure"
)

//go:embed scaffold.yaml
var scaffold string

func newNew(streams cli.Streams) *cobra.Command {
	var directory string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Make a folder to describe an implementation in",
		Long: `new writes an implementation.yaml with every field that is needed, and what each
is for. What you must know stands there as FILL-IN; check names what is left.`,
		Example: `  gatemark implementations new mine
  gatemark implementations new mine --directory ~/work/gateway/gatemark`,
		Args: oneArgument("a name"),
		RunE: func(_ *cobra.Command, args []string) error {
			if directory == "" {
				directory = args[0]
			}
			return write(streams, args[0], directory)
		},
	}
	cmd.Flags().StringVar(&directory, "directory", "", "the folder to make (default NAME)")
	return cmd
}

// oneArgument demands exactly one.
func oneArgument(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return failure.WithCode(fmt.Errorf("%s takes %s, got %q", cmd.CommandPath(), what, args), failure.Usage)
	}
}

// write makes the folder. It overwrites nothing.
func write(streams cli.Streams, name, directory string) error {
	if said := validation.IsDNS1123Label(name); len(said) > 0 {
		return failure.WithCode(fmt.Errorf("name %q: %s", name, said[0]), failure.Usage)
	}
	files := map[string]string{
		"implementation.yaml": strings.ReplaceAll(scaffold, "NAME", name),
		"values.yaml":         "# What is set beyond the chart's own defaults: nothing.\n{}\n",
	}
	for file := range files {
		path := filepath.Join(directory, file)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return failure.WithCode(failure.Hint(fmt.Errorf("%s is there already", path), "name another folder with --directory"), failure.Usage)
		}
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(directory, file), []byte(text), 0o644); err != nil {
			return err
		}
	}
	path := directory
	if !filepath.IsAbs(path) {
		path = "." + string(filepath.Separator) + filepath.Clean(path)
	}
	_, err := fmt.Fprintf(streams.Out, "wrote %s\nfill it in, then: gatemark implementations check %s\n", filepath.Join(path, "implementation.yaml"), path)
	return err
}
