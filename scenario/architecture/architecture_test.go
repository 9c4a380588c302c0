package architecture

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/result"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

func proxyReplica(namespace, name string, last byte) (kube.Replica, podSeen) {
	return kube.Replica{Pod: namespace + "/" + name, IP: netip.AddrFrom4([4]byte{10, 0, 0, last}), Port: 8080, Service: namespace + "/proxy"},
		podSeen{namespace: namespace, name: name, workload: "deployment " + namespace + "/proxy", containers: []containerSeen{{"proxy", "proxy:1", "sha256:p"}}}
}

func raised(mark, namespace string, last byte) examined {
	created := time.Now()
	g := examined{
		namespace: namespace, mark: mark, addresses: []string{"10.9.0." + string('0'+rune(last))}, created: created,
		programmed: created.Add(2 * time.Second), answered: created.Add(2100 * time.Millisecond), served: created.Add(2200 * time.Millisecond),
	}
	r, p := proxyReplica(namespace, "proxy-0", last)
	g.replicas, g.pods, g.found = []kube.Replica{r}, []podSeen{p}, "the endpoints of service "+namespace+"/proxy, which has the Gateway's address"
	for _, host := range []string{ownHost("first"), ownHost("second"), sharedHost} {
		q := question{host: host, own: 20}
		if host != sharedHost && host != ownHost(mark) {
			q = question{host: host, neither: 20}
		}
		g.questions = append(g.questions, q)
	}
	return g
}

// dissected reports on an ideal architecture, but for the change.
func dissected(t *testing.T, change func(*anatomy)) *result.Trial {
	t.Helper()
	d := &dissection{Trial: scenariotest.Trial(t, Scenario, nil)}
	d.anatomy = anatomy{
		class: classSeen{true, "GatewayClass fake came with release fake"},
		first: raised("first", "trial", 1), second: raised("second", "trial-2", 2),
		control: []podSeen{{namespace: "system", name: "control-0", workload: "deployment system/control", account: "system/control",
			containers: []containerSeen{{"control", "control:1", "sha256:c"}}}},
		port:   portTried{port: 18080, programmed: time.Second, answered: 1200 * time.Millisecond, beside: question{host: ownHost("first"), own: 20}},
		rights: map[string][]permission{"system/control": {{power: "read Secrets"}}},
	}
	change(&d.anatomy)
	d.report()
	scenariotest.CheckShape(t, Scenario, d.Result)
	return d.Result
}

// tabled are the first rows of the table, which published benchmarks have too.
func tabled(t *testing.T, r *result.Trial) map[string]string {
	t.Helper()
	if r.Tables[0].Name != "architecture" {
		t.Fatalf("the first table is %s", r.Tables[0].Name)
	}
	all := map[string]string{}
	for i, row := range r.Tables[0].Rows {
		all[row[0]] = row[1]
		if evidence := r.Tables[1].Rows[i]; evidence[0] != row[0] || evidence[1] == "" {
			t.Errorf("row %q rests on %q", row, evidence)
		}
	}
	return all
}

const (
	rowSplit     = "Data plane and control plane split"
	rowInstances = "Gateway instances split"
	rowNamespace = "Data plane in Gateway namespace"
	rowClass     = "GatewayClass pre-created"
	rowCompliant = "Spec-compliant architecture"
	rowSecond    = "Second Gateway"
	rowApart     = "Same host and port in two namespaces kept apart"
	rowPort      = "Arbitrary listener port"
)

// sharedBehind puts the first Gateway's replica behind the second one as well.
func sharedBehind(a *anatomy) { a.second.replicas, a.second.pods = a.first.replicas, a.first.pods }

// inSystem moves a data plane into the controller's namespace.
func inSystem(g *examined, last byte) {
	r, p := proxyReplica("system", "proxy-"+g.mark, last)
	g.replicas, g.pods, g.foreign = []kube.Replica{r}, []podSeen{p}, []string{"service system/proxy", p.workload}
}

func bleeding(a *anatomy) {
	sharedBehind(a)
	a.first.questions[1] = question{host: ownHost("second"), other: 20}
	a.second.questions[0] = question{host: ownHost("first"), other: 20}
	a.second.questions[2] = question{host: sharedHost, other: 19, own: 1}
}

func refusing(a *anatomy) {
	a.second = examined{namespace: "trial-2", mark: "second", created: a.first.created, lacked: "Accepted is False (Conflict: only one)"}
}

func TestArchitecturesThatThereAre(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*anatomy)
		findings []string
		answers  map[string]string
	}{
		"ideal": {func(*anatomy) {}, nil, map[string]string{
			rowSplit: "yes", rowInstances: "yes", rowNamespace: "yes", rowClass: "yes", rowCompliant: "yes", rowSecond: "served", rowApart: "yes", rowPort: "served",
		}},
		"proxies in the controller's namespace": {
			func(a *anatomy) { inSystem(&a.first, 1); inSystem(&a.second, 2); a.class.preCreated = false },
			[]string{"foreign-namespace notable"},
			map[string]string{rowSplit: "yes", rowInstances: "yes", rowNamespace: "no", rowClass: "no", rowCompliant: "no: namespace boundaries broken"},
		},
		"one proxy for all, that keeps them apart": {
			func(a *anatomy) { sharedBehind(a) }, []string{"shared-data-plane notable"},
			map[string]string{rowInstances: "no", rowCompliant: "yes", rowSecond: "served by the same proxy", rowApart: "yes"},
		},
		"one process for everything, that mixes Gateways": {
			func(a *anatomy) {
				bleeding(a)
				a.control = a.first.pods
				a.port = portTried{port: 18080, programmed: -1, answered: -1, lacked: "1 of 2 listeners programmed", beside: question{own: 20}}
			},
			[]string{"no-split notable", "shared-data-plane notable", "gateways-bleed broken", "port-refused notable"},
			map[string]string{rowSplit: "no", rowInstances: "no", rowCompliant: "no: Gateways are not kept apart", rowApart: "no", rowPort: "refused"},
		},
		"one Gateway only": {
			refusing, []string{"single-gateway notable"},
			map[string]string{rowInstances: "no", rowCompliant: "no: single Gateway only", rowSecond: "refused", rowApart: "no second Gateway"},
		},
		"a second Gateway that is programmed and does nothing": {
			func(a *anatomy) {
				a.second.served = time.Time{}
				a.second.questions = nil
				a.second.lacked = "the last answer was status 404"
			},
			[]string{"second-gateway-unserved broken"},
			map[string]string{rowSecond: "programmed, not served", rowCompliant: "no: second Gateway not served"},
		},
		"a port that is programmed and does nothing": {
			func(a *anatomy) { a.port.answered, a.port.lacked = -1, "the last answer was none: connection refused" },
			[]string{"port-unserved broken"}, map[string]string{rowPort: "programmed, not served"},
		},
		"a port that costs the other one": {
			func(a *anatomy) { a.port.beside = question{own: 17, failed: 3} },
			[]string{"port-breaks-others broken"}, map[string]string{rowPort: "served"},
		},
		"programmed long before": {
			func(a *anatomy) {
				a.first.answered, a.first.served = a.first.created.Add(5*time.Second), a.first.created.Add(5*time.Second)
			},
			[]string{"programmed-early notable"}, map[string]string{"Programmed means that it answers": "no"},
		},
		"on the node's network, with rights": {
			func(a *anatomy) {
				a.first.pods[0].privileges = []string{"the node's network", "capability NET_ADMIN"}
				a.first.pods[0].account = "trial/proxy"
				a.rights = map[string][]permission{"trial/proxy": {{power: "read Secrets"}, {power: "make pods", where: "trial"}}, "system/control": {{power: allPowers}}}
			},
			[]string{"privileged notable", "control-plane-rights notable", "data-plane-rights notable"},
			map[string]string{"Privileges of the data plane": "the node's network, capability NET_ADMIN"},
		},
		"a data plane that is not of pods": {
			func(a *anatomy) {
				for _, g := range []*examined{&a.first, &a.second} {
					g.pods, g.replicas[0].Pod = nil, ""
				}
			},
			nil, map[string]string{rowSplit: "unknown", rowInstances: "yes", rowNamespace: "yes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := dissected(t, c.change)
			scenariotest.CheckFindings(t, r, c.findings...)
			got := tabled(t, r)
			for row, want := range c.answers {
				if got[row] != want {
					t.Errorf("%s: %q, want %q", row, got[row], want)
				}
			}
		})
	}
}

func TestFindingsOfTheArchitectureSayHowMuch(t *testing.T) {
	r := dissected(t, bleeding)
	f := scenariotest.Finding(t, r, "gateways-bleed")
	if !strings.Contains(f.Text, "59 of 80 answers") {
		t.Errorf("it says %q", f.Text)
	}
	if want := "second Gateway asked for shared.gatemark.test: 1× its own route, 19× the other one's route"; !strings.Contains(f.Evidence[0].Text, want) {
		t.Errorf("evidence %q lacks %q", f.Evidence[0].Text, want)
	}
	r = dissected(t, func(a *anatomy) { inSystem(&a.first, 1) })
	if text := scenariotest.Finding(t, r, "foreign-namespace").Text; !strings.Contains(text, "lies in system and") || !strings.Contains(text, "2 objects") {
		t.Errorf("it says %q", text)
	}
	r = dissected(t, func(a *anatomy) { a.first.answered = a.first.created.Add(5 * time.Second) })
	if text := scenariotest.Finding(t, r, "programmed-early").Text; !strings.Contains(text, "programmed 3s before") {
		t.Errorf("it says %q", text)
	}
	if m := r.Metrics["programmed-lead"]; m.Value == nil || *m.Value < 2.99 || *m.Value > 3.01 {
		t.Errorf("lead %+v", m)
	}
	r = dissected(t, refusing)
	if m := r.Metrics["second-programmed"]; m.Value != nil || m.Censored != 1 {
		t.Errorf("second-programmed %+v", m)
	}
}

func TestWhoMadeAGatewayClass(t *testing.T) {
	class := func(change func(*gatewayv1.GatewayClass)) classSeen {
		c := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "c", ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "controller", Subresource: "status"}, {Manager: "maker"},
		}}}
		change(c)
		return originOf(c)
	}
	for name, c := range map[string]struct {
		change func(*gatewayv1.GatewayClass)
		pre    bool
		words  string
	}{
		"by gatemark, for want of one": {func(c *gatewayv1.GatewayClass) { kube.Own(c, "r", "") }, false, "the installation brought none"},
		"by a chart, which gatemark labelled": {func(c *gatewayv1.GatewayClass) {
			kube.Own(c, "r", "")
			c.Annotations = map[string]string{helmRelease: "eg"}
		}, true, "release eg"},
		"by a controller": {func(*gatewayv1.GatewayClass) {}, true, `"maker"`},
	} {
		if got := class(c.change); got.preCreated != c.pre || !strings.Contains(got.words, c.words) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
