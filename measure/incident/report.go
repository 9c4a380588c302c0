package incident

import (
	"fmt"
	"strings"
	"time"

	"github.com/gatemark/gatemark/measure/history"
	"github.com/gatemark/gatemark/result"
)

// A Report is what happened to an implementation's pods during a trial.
type Report struct {
	Incidents []Incident
	// Baseline is where the next trial's watch goes on counting.
	Baseline  *Baseline
	Histories []history.Report
}

// Gates are what must hold for "nothing happened" to mean that: the history of
// the pods is whole.
func (r Report) Gates() []result.Gate {
	var gates []result.Gate
	for _, h := range r.Histories {
		gates = append(gates, h.Gates(time.Minute)[0])
	}
	return gates
}

// most is how many incidents of one sort are told one by one.
const most = 10

// Findings tells the incidents, one finding for each kind and role, and the
// attachments that they refer to. started is the trial's.
func (r Report) Findings(started time.Time) ([]result.Finding, map[string][]byte) {
	type sort struct {
		kind     Kind
		role     Role
		expected bool
	}
	var order []sort
	groups := map[sort][]Incident{}
	for _, i := range r.Incidents {
		s := sort{i.Kind, i.Role, i.Expected != ""}
		if groups[s] == nil {
			order = append(order, s)
		}
		groups[s] = append(groups[s], i)
	}
	attachments := map[string][]byte{}
	var findings []result.Finding
	for _, s := range order {
		findings = append(findings, finding(groups[s], started, attachments))
	}
	return findings, attachments
}

func finding(incidents []Incident, started time.Time, attachments map[string][]byte) result.Finding {
	first, times := incidents[0], 0
	for _, i := range incidents {
		times += i.Times
	}
	f := result.Finding{
		ID:       "pods/" + strings.ReplaceAll(string(first.Role), " ", "-") + "-" + string(first.Kind),
		Severity: severity(first),
		Text:     fmt.Sprintf("%s: %s, %s", first.Role, first, when(first, started)),
	}
	if times > first.Times {
		f.Text += fmt.Sprintf("; %d such in all", times)
	}
	if first.Expected != "" {
		f.ID += "-on-purpose"
		f.Text += " (on purpose: " + first.Expected + ")"
	}
	for n, i := range incidents[:min(most, len(incidents))] {
		f.Evidence = append(f.Evidence, result.Evidence{Name: "incident", Text: when(i, started) + ": " + i.String()})
		if len(i.Events) > 0 {
			f.Evidence = append(f.Evidence, result.Evidence{Name: "event", Text: strings.Join(i.Events, "\n")})
		}
		if i.Log != "" {
			file := fmt.Sprintf("incident/%s-%s-%d.log", strings.ReplaceAll(i.Pod, "/", "-"), f.ID[len("pods/"):], n+1)
			attachments[file] = []byte(i.Log)
			f.Evidence = append(f.Evidence, result.Evidence{Name: "pod log", Text: tail(i.Log, 10), File: file})
		}
	}
	return f
}

func severity(i Incident) result.Severity {
	switch {
	case i.Kind == OOMKill:
		return result.Broken
	case i.Expected != "":
		return result.Info
	case i.Kind == Crash:
		return result.Broken
	case i.Kind == Eviction || i.Kind == NotReady && i.Role == ControlPlane:
		return result.Notable // the cluster's doing, or nothing that traffic feels
	default:
		return result.Costly
	}
}

func when(i Incident, started time.Time) string {
	if i.Before {
		return "before this trial and after the one before it"
	}
	return fmt.Sprintf("%.1f s into the trial", i.At.Sub(started).Seconds())
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
