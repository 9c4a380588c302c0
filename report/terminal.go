package report

import (
	"fmt"
	"io"

	"github.com/gatemark/gatemark/result"
)

// Options say what a terminal can show.
type Options struct {
	// Width in columns; 0 means 100.
	Width int
	// Color is false off a terminal and where NO_COLOR is set.
	Color bool
}

// Terminal writes the short form of the report for a terminal: the verdict,
// findings and headline numbers.
func Terminal(w io.Writer, run *result.Run, trials []*result.Trial, o Options) error {
	for _, t := range trials {
		if _, err := fmt.Fprintf(w, "%s  %s  %s  %s\n", t.Outcome, t.Implementation, t.Scenario, t.Reason); err != nil {
			return err
		}
	}
	return nil
}
