package architecture

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario"
)

func (d *dissection) report() {
	d.metrics()
	d.tables()
	d.findSplit()
	d.findShared()
	d.findForeign()
	d.findBleeding()
	d.findSecond()
	d.findPort()
	d.findProgrammed()
	d.findPrivileges()
}

func (d *dissection) metrics() {
	limit := d.Values.Duration("limit").Seconds()
	since := func(at, from time.Time) float64 {
		if at.IsZero() {
			return math.Inf(1)
		}
		return at.Sub(from).Seconds()
	}
	d.Metric("programmed", scenario.OneValue("A new Gateway's status says Programmed, from its creation", since(d.first.programmed, d.first.created), limit).Lower())
	d.Metric("answered", scenario.OneValue("A new Gateway answers, from its creation", since(d.first.answered, d.first.created), limit).Lower())
	d.Metric("programmed-lead", result.Value("From Programmed to the first answer; negative where it answered before", "s", d.first.lead().Seconds()))
	d.Metric("second-programmed", scenario.OneValue("A second Gateway's status says Programmed, from its creation", since(d.second.programmed, d.second.created), limit).Lower())
	d.Metric("second-answered", scenario.OneValue("A second Gateway answers, from its creation", since(d.second.answered, d.second.created), limit).Lower())
	port := math.Inf(1)
	if d.port.answered >= 0 {
		port = d.port.answered.Seconds()
	}
	d.Metric("port-answered", scenario.OneValue("A listener on another port serves, from its write", port, limit).Lower())
	d.Metric("control-plane-pods", result.Count("Pods of the control plane, with one Gateway's own", len(d.control)))
	d.Metric("data-plane-pods", result.Count("Replicas behind one Gateway", len(d.first.replicas)))
}

func (d *dissection) tables() {
	// Two tables of two columns: reports set such facts side by side.
	facts := result.Table{Name: "architecture", Title: "Architecture", Columns: []string{"property", "answer"}}
	seen := result.Table{Name: "architecture-evidence", Title: "What the architecture's table rests on", Columns: []string{"property", "seen"}}
	for _, f := range d.facts() {
		facts.Rows = append(facts.Rows, []string{f.property, f.answer})
		seen.Rows = append(seen.Rows, []string{f.property, f.seen})
	}
	images := result.Table{Name: "containers", Title: "What runs", Columns: []string{"plane", "workload", "container", "image", "digest"}}
	listed := map[string]bool{}
	for _, plane := range []struct {
		name string
		pods []podSeen
	}{{"control", d.control}, {"data", d.first.pods}} {
		for _, p := range plane.pods {
			for _, c := range p.containers {
				row := []string{plane.name, p.workload, c.name, c.image, c.digest}
				if key := strings.Join(row, " "); !listed[key] {
					listed[key] = true
					images.Rows = append(images.Rows, row)
				}
			}
		}
	}
	d.Result.Tables = append(d.Result.Tables, facts, seen, images)
}

func (d *dissection) findSplit() {
	both, _ := d.split()
	if len(both) == 0 {
		return
	}
	d.Find("no-split", result.Notable,
		fmt.Sprintf("%d %s decide and carry the traffic at once: what burdens or crashes the one takes the other with it, and neither can be scaled alone", len(both), scenario.Plural(len(both), "pod")),
		result.Evidence{Name: "pods of both planes", Text: strings.Join(both, "\n")})
}

func (d *dissection) findShared() {
	shared := d.shared()
	if len(shared) == 0 {
		return
	}
	d.Find("shared-data-plane", result.Notable,
		fmt.Sprintf("Gateways of two namespaces are served by the same %d %s: the load of one slows the other down, and a mistake in one can take both away", len(shared), scenario.Plural(len(shared), "replica")),
		result.Evidence{Name: "replicas behind both Gateways", Text: strings.Join(shared, "\n")})
}

func (d *dissection) findForeign() {
	if len(d.first.foreign) == 0 {
		return
	}
	d.Find("foreign-namespace", result.Notable,
		fmt.Sprintf("what is made for a Gateway lies in %s and not in the Gateway's namespace: whoever may create a Gateway gets %d %s there, which quotas and network policies of the own namespace do not hold; the Gateway API wants them in the Gateway's namespace",
			strings.Join(namespacesOf(d.first.foreign), ", "), len(d.first.foreign), scenario.Plural(len(d.first.foreign), "object")),
		result.Evidence{Name: "made for gateway " + d.first.namespace + "/" + scenario.GatewayName, Text: strings.Join(d.first.foreign, "\n")})
}

// namespacesOf are those of objects as they are named here: "kind a/b".
func namespacesOf(objects []string) []string {
	var all []string
	seen := map[string]bool{}
	for _, o := range objects {
		_, name, _ := strings.Cut(o, " ")
		in, _, _ := strings.Cut(name, "/")
		if !seen[in] {
			seen[in] = true
			all = append(all, in)
		}
	}
	return all
}

func (d *dissection) findBleeding() {
	if !d.bleeds() {
		return
	}
	one, ofOne := d.first.crossed()
	two, ofTwo := d.second.crossed()
	text := fmt.Sprintf("Gateways of two namespaces are not kept apart: asked for what is not theirs alone, they gave %d of %d answers from the other namespace's route; whoever may write routes in one namespace can take over traffic of another one",
		one+two, ofOne+ofTwo)
	d.Find("gateways-bleed", result.Broken, text, result.Evidence{Name: "who answered", Text: strings.ReplaceAll(d.factApart().seen, "; ", "\n")},
		result.Evidence{Name: "addresses", Text: fmt.Sprintf("first Gateway: %s\nsecond Gateway: %s", strings.Join(d.first.addresses, ", "), strings.Join(d.second.addresses, ", "))})
}

func (d *dissection) findSecond() {
	limit := d.Values.Duration("limit")
	evidence := result.Evidence{Name: "what the second Gateway lacked", Text: d.second.lacked}
	switch {
	case d.refused():
		d.Find("single-gateway", result.Notable,
			fmt.Sprintf("a second Gateway, in another namespace, was not programmed within %s: one Gateway is all that there can be", limit), evidence)
	case !d.secondServed():
		d.Find("second-gateway-unserved", result.Broken,
			fmt.Sprintf("a second Gateway's status says that it is programmed, and its route was not served within %s", limit), evidence)
	}
}

func (d *dissection) findPort() {
	p := d.port
	evidence := result.Evidence{Name: "what was missing", Text: p.lacked}
	limit := d.Values.Duration("limit")
	switch {
	case p.programmed < 0:
		d.Find("port-refused", result.Notable,
			fmt.Sprintf("a listener on port %d was not programmed within %s: ports are limited to those that the installation has open", p.port, limit), evidence)
	case p.answered < 0:
		d.Find("port-unserved", result.Broken,
			fmt.Sprintf("the status of a listener on port %d says that it is programmed, and nothing was served there within %s", p.port, limit), evidence)
	}
	if bad := p.beside.asked() - p.beside.own; bad > 0 {
		d.Find("port-breaks-others", result.Broken,
			fmt.Sprintf("while the Gateway got a listener on port %d, %d of %d requests to its port %d did not get the right answer", p.port, bad, p.beside.asked(), scenario.ListenerPort),
			result.Evidence{Name: "answers", Text: p.beside.String()})
	}
}

func (d *dissection) findProgrammed() {
	if lead := d.first.lead(); lead > programmedNoticed {
		d.Find("programmed-early", result.Notable,
			fmt.Sprintf("the Gateway's status said that it was programmed %s before anything answered at its address: who goes by it sends users to errors for so long", round(lead)),
			result.Evidence{Name: "instants", Text: d.factProgrammed().seen})
	}
}

func (d *dissection) findPrivileges() {
	if privileges := allPrivileges(d.first.pods); len(privileges) > 0 {
		d.Find("privileged", result.Notable,
			fmt.Sprintf("the pods that carry the traffic have %s: who breaks into the proxy is closer to the node than in an ordinary pod", strings.Join(privileges, ", ")),
			result.Evidence{Name: "pods", Text: strings.Join(podNames(d.first.pods), "\n")})
	}
	for _, plane := range []struct {
		what string
		pods []podSeen
	}{{"control", d.control}, {"data", d.first.pods}} {
		for _, account := range accounts(plane.pods) {
			d.findRights(plane.what, account)
		}
	}
}

// findRights: of a control plane only what makes it the cluster's
// administrator is told; the data plane, which strangers talk to, needs
// nothing.
func (d *dissection) findRights(plane, account string) {
	var wide []permission
	for _, r := range d.rights[account] {
		if r.where == "" && (plane == "data" || r.power == allPowers) {
			wide = append(wide, r)
		}
	}
	if len(wide) == 0 {
		return
	}
	d.Find(plane+"-plane-rights", result.Notable,
		fmt.Sprintf("the %s plane's service account %s may %s: who breaks into its pods may as well", plane, account, joinRights(wide)),
		result.Evidence{Name: "rights of note", Text: joinRights(d.rights[account])})
}
