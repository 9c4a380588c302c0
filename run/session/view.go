package session

import (
	"fmt"

	"github.com/gatemark/gatemark/internal/progress"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/run/transfer"
)

// A view shows each attempt as a step.
type view struct {
	printer *progress.Printer
	dir     result.Directory
	step    *progress.Step
	id      string
	said    string
}

func (v *view) show(status transfer.Status) {
	if status.Current == "" || status.Current == v.id && v.step == nil {
		return
	}
	if status.Current != v.id {
		v.end()
		v.id = status.Current
		v.step = v.printer.Step(fmt.Sprintf("trial %d of %d, %s", status.Finished+1, status.Planned, status.Current))
	}
	if status.Progress != "" {
		v.step.Update("%s", status.Progress)
	}
}

// pulled ends the steps of the trials that have arrived.
func (v *view) pulled(ids []string) {
	for _, id := range ids {
		trial, err := v.dir.ReadTrial(id)
		if err != nil {
			v.printer.Printf("trial %s: %v", id, err)
			continue
		}
		step := v.step
		if id != v.id || step == nil {
			step = v.printer.Step("trial " + id)
		}
		step.Conclude("%s", verdict(trial))
		if trial.Outcome == result.OK {
			step.Done()
		} else {
			step.Fail()
		}
		if id == v.id {
			v.step = nil
		}
	}
}

// say shows trouble on the way, below the trial in hand.
func (v *view) say(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); line != v.said {
		v.said = line
		v.printer.Printf("%s", line)
	}
}

func verdict(t *result.Trial) string {
	text := string(t.Outcome)
	if t.Reason != "" {
		text += ": " + t.Reason
	}
	if n := len(t.Findings); n > 0 {
		text += fmt.Sprintf(", %d findings", n)
	}
	return text
}

func (v *view) end() {
	if v.step != nil {
		v.step.Fail()
		v.step = nil
	}
}
