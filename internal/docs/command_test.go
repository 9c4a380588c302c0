package docs

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gatemark/gatemark/internal/cli"
	"github.com/gatemark/gatemark/internal/cli/root"
)

var (
	// A command line in a block ends where the shell's own words begin.
	inBlock = regexp.MustCompile(`(?m)(?:^|\(|\$ )(?:bin/)?gatemark( [^|>;&#)\n]*)?`)
	inline  = regexp.MustCompile("`(?:bin/)?gatemark( [^`]*)?`")
)

// TestCommands parses every command line of the documentation as gatemark
// itself would.
func TestCommands(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		var lines []string
		for _, block := range p.blocks("") {
			for _, m := range inBlock.FindAllStringSubmatch(block, -1) {
				lines = append(lines, m[1])
			}
		}
		for _, m := range inline.FindAllStringSubmatch(p.prose(), -1) {
			lines = append(lines, m[1])
		}
		for _, line := range lines {
			found++
			if err := parse(strings.Fields(line)); err != nil {
				t.Errorf("%s: gatemark%s: %v", p.path, line, err)
			}
		}
	}
	if found < 40 {
		t.Errorf("only %d command lines were found", found)
	}
}

func parse(args []string) error {
	var out bytes.Buffer
	all := root.New(cli.Streams{In: &out, Out: &out, Err: &out})
	all.InitDefaultHelpCmd()
	cmd, rest, err := all.Find(args)
	if err != nil {
		return err
	}
	if cmd == all && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
		return fmt.Errorf("there is no such command")
	}
	if cmd.DisableFlagParsing || len(rest) == 0 {
		// A command that is only named may lack its arguments.
		return nil
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

func TestParse(t *testing.T) {
	for line, good := range map[string]bool{
		"run --repeats 3":     true,
		"report runs/latest":  true,
		"kubectl get pods -A": true,
		"--help":              true,
		"run --repeat 3":      false,
		"run --budget long":   false,
		"measure":             false,
		"up gatemark":         false,
	} {
		if err := parse(strings.Fields(line)); (err == nil) != good {
			t.Errorf("gatemark %s: %v", line, err)
		}
	}
}
