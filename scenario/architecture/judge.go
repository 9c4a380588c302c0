package architecture

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/scenario"
)

// programmedNoticed: a status that says Programmed this long before anything
// answers misleads those who wait for it.
const programmedNoticed = 2 * time.Second

// split reports whether no pod is in both planes; known is false where either
// has no pods to look at.
func (a *anatomy) split() (both []string, known bool) {
	control := podNames(a.control)
	for _, name := range podNames(a.first.pods) {
		if slices.Contains(control, name) {
			both = append(both, name)
		}
	}
	return both, len(control) > 0 && len(a.first.pods) > 0
}

func podNames(pods []podSeen) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.key())
	}
	return all
}

// shared are the replicas that serve both Gateways.
func (a *anatomy) shared() []string {
	var all []string
	for _, r := range a.first.replicas {
		if slices.ContainsFunc(a.second.replicas, func(s kube.Replica) bool { return s.Pod == r.Pod && s.IP == r.IP }) {
			name := r.Pod
			if name == "" {
				name = r.IP.String()
			}
			all = append(all, name)
		}
	}
	return all
}

// refused: the second Gateway's status never said that it was programmed.
func (a *anatomy) refused() bool { return a.second.programmed.IsZero() }

// elsewhere are the namespaces of a Gateway's replicas, but for its own.
func (g *examined) elsewhere() []string {
	var all []string
	for _, r := range g.replicas {
		at := r.Pod
		if at == "" {
			at = r.Service
		}
		if in, _, _ := strings.Cut(at, "/"); in != g.namespace && !slices.Contains(all, in) {
			all = append(all, in)
		}
	}
	return all
}

// crossed counts the answers of the other Gateway's route, of so many.
func (g *examined) crossed() (other, asked int) {
	for _, q := range g.questions {
		if q.host != ownHost(g.mark) {
			other += q.other
			asked += q.asked()
		}
	}
	return other, asked
}

// bleeds reports whether a Gateway answered with the other one's route.
func (a *anatomy) bleeds() bool {
	one, _ := a.first.crossed()
	two, _ := a.second.crossed()
	return one+two > 0
}

// served: its own route answers at the second Gateway.
func (a *anatomy) secondServed() bool { return !a.second.served.IsZero() }

// violations are where the architecture breaks the Gateway API's rules: what is
// made for a Gateway lies in its namespace (GEP-1762), a Gateway's listeners
// are its own, and Programmed means that traffic will be served.
func (a *anatomy) violations() []string {
	var all []string
	if a.bleeds() {
		all = append(all, "Gateways are not kept apart")
	}
	if len(a.first.foreign) > 0 {
		all = append(all, "namespace boundaries broken")
	}
	switch {
	case a.refused():
		all = append(all, "single Gateway only")
	case !a.secondServed() && !a.bleeds():
		all = append(all, "second Gateway not served")
	}
	if a.port.programmed >= 0 && a.port.answered < 0 {
		all = append(all, "a port that is programmed is not served")
	}
	return all
}

// lead is how long before the first answer the status said Programmed; negative
// where it answered before.
func (g *examined) lead() time.Duration { return g.answered.Sub(g.programmed) }

// A fact is a row of the table: a property, the answer, and what it rests on.
type fact struct{ property, answer, seen string }

func (a *anatomy) facts() []fact {
	return []fact{
		a.factSplit(),
		a.factInstances(),
		a.factNamespace(),
		{"GatewayClass pre-created", yesNo(a.class.preCreated), a.class.words},
		a.factCompliant(),
		a.factSecond(),
		a.factApart(),
		a.factPort(),
		a.factProgrammed(),
		{"Control plane", podsIn(a.control, a.first.namespace), strings.Join(workloads(a.control), ", ")},
		{"Data plane of a Gateway", podsIn(a.first.pods, a.first.namespace), a.first.found},
		a.factPrivileges("Privileges of the control plane", a.control),
		a.factPrivileges("Privileges of the data plane", a.first.pods),
	}
}

func yesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func (a *anatomy) factSplit() fact {
	both, known := a.split()
	f := fact{"Data plane and control plane split", yesNo(len(both) == 0), ""}
	switch {
	case !known:
		f.answer, f.seen = "unknown", fmt.Sprintf("%d pods of the control plane and %d of the data plane were seen", len(a.control), len(a.first.pods))
	case len(both) > 0:
		f.seen = "in both: " + strings.Join(both, ", ")
	default:
		f.seen = fmt.Sprintf("%s decide, %s carry traffic", strings.Join(workloads(a.control), ", "), strings.Join(workloads(a.first.pods), ", "))
	}
	return f
}

func (a *anatomy) factInstances() fact {
	f := fact{"Gateway instances split", "yes", ""}
	shared := a.shared()
	switch {
	case a.refused():
		f.answer, f.seen = "no", "the second Gateway was not programmed"
	case len(shared) > 0:
		f.answer, f.seen = "no", "behind both Gateways: "+strings.Join(shared, ", ")
	case len(a.second.replicas) == 0:
		f.answer, f.seen = "unknown", "nothing was found behind the second Gateway"
	default:
		f.seen = fmt.Sprintf("%s; %s", strings.Join(replicaNames(a.first.replicas), ", "), strings.Join(replicaNames(a.second.replicas), ", "))
	}
	return f
}

func (a *anatomy) factNamespace() fact {
	elsewhere := a.first.elsewhere()
	f := fact{"Data plane in Gateway namespace", yesNo(len(elsewhere) == 0), ""}
	if len(elsewhere) > 0 {
		f.seen = fmt.Sprintf("the Gateway is in %s, its data plane in %s", a.first.namespace, strings.Join(elsewhere, ", "))
	} else {
		f.seen = "all of it is in " + a.first.namespace
	}
	return f
}

func (a *anatomy) factCompliant() fact {
	f := fact{"Spec-compliant architecture", "yes", "as far as it was tried"}
	if violations := a.violations(); len(violations) > 0 {
		f.answer = "no: " + strings.Join(violations, "; ")
		f.seen = "the rows around this one"
		if len(a.first.foreign) > 0 {
			f.seen = "made for the Gateway outside its namespace: " + strings.Join(a.first.foreign, ", ")
		}
	}
	return f
}

func (a *anatomy) factSecond() fact {
	f := fact{"Second Gateway", "served", fmt.Sprintf("programmed %s, served %s after it was created", after(a.second.programmed, a.second.created), after(a.second.served, a.second.created))}
	switch {
	case a.refused():
		f.answer, f.seen = "refused", a.second.lacked
	case !a.secondServed():
		f.answer = "programmed, not served"
		f.seen += "; " + a.second.lacked
	case len(a.shared()) > 0:
		f.answer = "served by the same proxy"
	}
	return f
}

func (a *anatomy) factApart() fact {
	f := fact{"Same host and port in two namespaces kept apart", yesNo(!a.bleeds()), ""}
	if a.refused() && !a.bleeds() {
		f.answer = "no second Gateway"
	}
	var lines []string
	for _, g := range []*examined{&a.first, &a.second} {
		for _, q := range g.questions {
			lines = append(lines, fmt.Sprintf("%s Gateway asked for %s: %s", g.mark, q.host, q))
		}
	}
	f.seen = strings.Join(lines, "; ")
	return f
}

func (q question) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{{q.own, "its own route"}, {q.other, "the other one's route"}, {q.neither, "no route"}, {q.failed, "no answer"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d× %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

func (a *anatomy) factPort() fact {
	p := a.port
	f := fact{property: "Arbitrary listener port"}
	switch {
	case p.programmed < 0:
		f.answer, f.seen = "refused", p.lacked
	case p.answered < 0:
		f.answer, f.seen = "programmed, not served", p.lacked
	default:
		f.answer = "served"
		f.seen = fmt.Sprintf("port %d programmed after %s, served after %s", p.port, round(p.programmed), round(p.answered))
	}
	return f
}

func (a *anatomy) factProgrammed() fact {
	lead := a.first.lead()
	f := fact{"Programmed means that it answers", yesNo(lead <= programmedNoticed), ""}
	f.seen = fmt.Sprintf("Programmed %s, first answer %s after the Gateway was created", after(a.first.programmed, a.first.created), after(a.first.answered, a.first.created))
	return f
}

func (a *anatomy) factPrivileges(property string, pods []podSeen) fact {
	f := fact{property: property, answer: "none beyond ordinary pods"}
	privileges := allPrivileges(pods)
	if len(privileges) > 0 {
		f.answer = strings.Join(privileges, ", ")
	}
	var lines []string
	for _, account := range accounts(pods) {
		line := "service account " + account + " may do nothing of note"
		if rights := a.rights[account]; len(rights) > 0 {
			line = "service account " + account + " may " + joinRights(rights)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []string{"its pods have no service account's token"}
	}
	f.seen = strings.Join(lines, "; ")
	return f
}

func joinRights(rights []permission) string {
	var all []string
	for _, r := range rights {
		all = append(all, r.String())
	}
	return strings.Join(all, ", ")
}

func allPrivileges(pods []podSeen) []string {
	var all []string
	for _, p := range pods {
		for _, words := range p.privileges {
			if !slices.Contains(all, words) {
				all = append(all, words)
			}
		}
	}
	return all
}

func accounts(pods []podSeen) []string {
	var all []string
	for _, p := range pods {
		if p.account != "" && !slices.Contains(all, p.account) {
			all = append(all, p.account)
		}
	}
	return all
}

// workloads names what made the pods, each with how many it made.
func workloads(pods []podSeen) []string {
	counts := map[string]int{}
	var order []string
	for _, p := range pods {
		if counts[p.workload]++; counts[p.workload] == 1 {
			order = append(order, p.workload)
		}
	}
	for i, w := range order {
		order[i] = fmt.Sprintf("%s (%d %s)", w, counts[w], scenario.Plural(counts[w], "pod"))
	}
	return order
}

// podsIn says how many pods are in which namespaces, that of the Gateway by
// that name.
func podsIn(pods []podSeen, own string) string {
	if len(pods) == 0 {
		return "no pods were seen"
	}
	counts := map[string]int{}
	var order []string
	for _, p := range pods {
		in := p.namespace
		if in == own {
			in = "the Gateway's namespace"
		}
		if counts[in]++; counts[in] == 1 {
			order = append(order, in)
		}
	}
	for i, in := range order {
		order[i] = fmt.Sprintf("%d %s in %s", counts[in], scenario.Plural(counts[in], "pod"), in)
	}
	return strings.Join(order, ", ")
}

func replicaNames(replicas []kube.Replica) []string {
	var all []string
	for _, r := range replicas {
		name := r.Pod
		if name == "" {
			name = r.Address().String()
		}
		all = append(all, name)
	}
	return all
}

func round(d time.Duration) string { return d.Round(10 * time.Millisecond).String() }

// after says when something was, since another instant.
func after(at, since time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return round(at.Sub(since))
}
