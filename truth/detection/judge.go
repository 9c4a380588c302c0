package detection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatemark/gatemark/result"
)

// A Verdict is what became of a row in one size.
type Verdict string

// The verdicts.
const (
	// Found: the finding came, with its words, and no other without reason. Of
	// a row in which nothing is wrong: none came.
	Found Verdict = "found"
	// Missed: it did not come, or it says something else.
	Missed Verdict = "MISSED"
	// False: a finding came that is about nothing.
	False Verdict = "FALSE"
	// Unclear: the trial was no evidence, in every attempt.
	Unclear Verdict = "INVALID"
)

// Judge says what became of a row in a trial, and in what words: those of the
// finding that was found, or of those that should not have come, or why there
// is none.
func (r Row) Judge(t *result.Trial) (Verdict, string) {
	if t.Outcome == result.Invalid {
		return Unclear, t.Reason
	}
	sentence := ""
	var all, wrong []string
	for _, f := range t.Findings {
		name := strings.TrimPrefix(f.ID, r.Scenario+"/")
		words := fmt.Sprintf("%s: %s", name, f.Text)
		all = append(all, words)
		switch {
		case name == r.Finds && strings.Contains(f.Text, r.Says):
			sentence = f.Text
		case f.Severity == result.Info && r.Finds != "":
			// It accuses nobody, and what is wrong may well have made it: errors
			// at the first route alone, say.
		case !slices.Contains(r.Brings, name):
			wrong = append(wrong, words)
		}
	}
	switch {
	case r.Finds != "" && sentence == "":
		return Missed, fmt.Sprintf("no finding %s that says %q; there are [%s]", r.Finds, r.Says, strings.Join(all, "; "))
	case len(wrong) > 0:
		return False, strings.Join(wrong, "; ")
	}
	return Found, sentence
}
