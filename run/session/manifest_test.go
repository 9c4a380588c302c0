package session

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gatemark/gatemark/dialect"
	"github.com/gatemark/gatemark/kube"
	"github.com/gatemark/gatemark/plan"
	"github.com/gatemark/gatemark/run"
	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/scenariotest"
)

func render(t *testing.T, change map[string]any) []*unstructured.Unstructured {
	t.Helper()
	data := map[string]any{"Namespace": "gatemark-r", "Token": "secret", "Config": `{"a":"b"}`, "Image": "gatemark:1",
		"Realtime": false, "Kubelets": false, "Rights": []string(nil), "AuditLog": "", "AuditDir": "."}
	for name, v := range change {
		data[name] = v
	}
	objects, err := kube.Render("runner.yaml", runnerManifest, data)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func TestTheRunnersPod(t *testing.T) {
	plain := scenariotest.Typed[corev1.Pod](t, render(t, nil), "Pod")
	container := plain.Spec.Containers[0]
	security := container.SecurityContext
	if !*security.RunAsNonRoot || *security.RunAsUser == 0 || *security.AllowPrivilegeEscalation || len(security.Capabilities.Add) != 0 ||
		security.Capabilities.Drop[0] != "ALL" {
		t.Errorf("security context %+v", security)
	}
	for _, v := range plain.Spec.Volumes {
		if v.HostPath != nil {
			t.Errorf("without an audit log, the pod mounts %s of its node", v.HostPath.Path)
		}
	}
	fast := scenariotest.Typed[corev1.Pod](t, render(t, map[string]any{"Realtime": true}), "Pod").Spec.Containers[0].SecurityContext
	if len(fast.Capabilities.Add) != 1 || fast.Capabilities.Add[0] != "SYS_NICE" || *fast.AllowPrivilegeEscalation {
		t.Errorf("with priority, security context %+v", fast)
	}
}

func TestTheRunnerReadsTheAuditLogAndWritesNone(t *testing.T) {
	spec := scenariotest.Typed[corev1.Pod](t, render(t, map[string]any{"AuditLog": "/var/log/audit/audit.log", "AuditDir": "/var/log/audit"}), "Pod").Spec
	host := ""
	for _, v := range spec.Volumes {
		if v.HostPath != nil {
			host += v.Name + " " + v.HostPath.Path
		}
	}
	mount := corev1.VolumeMount{}
	for _, m := range spec.Containers[0].VolumeMounts {
		if m.Name == "audit" {
			mount = m
		}
	}
	if host != "audit /var/log/audit" || mount.MountPath != "/var/log/audit" || !mount.ReadOnly {
		t.Errorf("volumes %q, mount %+v", host, mount)
	}
}

// TestTextThatYAMLCouldMisread arrives as it is.
func TestTextThatYAMLCouldMisread(t *testing.T) {
	config, err := json.Marshal(map[string]string{"plan": "a: \"b\"\n# {{.Token}} \u2028 ü 🙂 \x01 'x'"})
	if err != nil {
		t.Fatal(err)
	}
	for _, token := range []string{"plain", "yes", "12345678", `a"b\c: #`} {
		objects := render(t, map[string]any{"Config": string(config), "Token": token})
		if got := scenariotest.Typed[corev1.ConfigMap](t, objects, "ConfigMap").Data["config.json"]; got != string(config) {
			t.Errorf("configuration %q, want %q", got, config)
		}
		if got := scenariotest.Typed[corev1.Secret](t, objects, "Secret").StringData["token"]; got != token {
			t.Errorf("token %q, want %q", got, token)
		}
	}
}

// TestTheRunnersRights are the runner's alone, and none shows what a Secret
// holds.
func TestTheRunnersRights(t *testing.T) {
	objects := render(t, nil)
	role := scenariotest.Typed[rbacv1.ClusterRole](t, objects, "ClusterRole")
	for _, rule := range role.Rules {
		for _, resource := range rule.Resources {
			if resource == "secrets" && !slices.Equal(rule.Verbs, []string{"create", "update", "delete"}) || resource == "pods/exec" || resource == "*" && rule.APIGroups[0] != "gateway.networking.k8s.io" {
				t.Errorf("the runner may %v %s of %v", rule.Verbs, resource, rule.APIGroups)
			}
		}
	}
	binding := scenariotest.Typed[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding")
	pod := scenariotest.Typed[corev1.Pod](t, objects, "Pod")
	account := scenariotest.Typed[corev1.ServiceAccount](t, objects, "ServiceAccount")
	if s := binding.Subjects; len(s) != 1 || s[0].Name != account.Name || s[0].Namespace != account.Namespace || binding.RoleRef.Name != role.Name ||
		pod.Spec.ServiceAccountName != account.Name || role.Name != "gatemark-r" {
		t.Errorf("binding %+v of role %s, account %s/%s", binding, role.Name, account.Namespace, account.Name)
	}
}

// TestTheRightToAskKubelets, which can do more than read, is given only where it
// is needed.
func TestTheRightToAskKubelets(t *testing.T) {
	for _, kubelets := range []bool{false, true} {
		has := false
		for _, rule := range scenariotest.Typed[rbacv1.ClusterRole](t, render(t, map[string]any{"Kubelets": kubelets}), "ClusterRole").Rules {
			has = has || slices.Contains(rule.Resources, "nodes/proxy")
		}
		if has != kubelets {
			t.Errorf("kubelets are to be asked: %v, the runner may: %v", kubelets, has)
		}
	}
}

// TestTheRightsOfAScenario are given only where the plan has it so.
func TestTheRightsOfAScenario(t *testing.T) {
	for upstream, want := range map[string]bool{"echo": false, "kube-apiserver": true} {
		config := run.Config{Plan: &plan.Plan{Scenarios: []plan.Trial{{Name: "added-latency", Parameters: map[string]any{"upstream": upstream, "auth": "token"}}}}}
		rights, err := config.Rights()
		if err != nil {
			t.Fatal(err)
		}
		has := false
		for _, rule := range scenariotest.Typed[rbacv1.ClusterRole](t, render(t, map[string]any{"Rights": rights}), "ClusterRole").Rules {
			has = has || slices.Contains(rule.Resources, "serviceaccounts/token") && slices.Contains(rule.Verbs, "create")
		}
		if has != want {
			t.Errorf("upstream %s: the runner may get tokens: %v", upstream, has)
		}
	}
}

// TestTheRightsOfADialect let the runner write its routes.
func TestTheRightsOfADialect(t *testing.T) {
	config := run.Config{Targets: map[string]scenario.Target{
		"a": {}, "b": {Dialect: &dialect.Dialect{Name: "Ingress", Objects: []dialect.Object{{Group: "networking.k8s.io", Resource: "ingresses"}}}},
	}}
	rights, err := config.Rights()
	if err != nil || len(rights) != 1 {
		t.Fatalf("%q, %v", rights, err)
	}
	rules := scenariotest.Typed[rbacv1.ClusterRole](t, render(t, map[string]any{"Rights": rights}), "ClusterRole").Rules
	if !slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, "networking.k8s.io") && slices.Contains(r.Resources, "ingresses") && slices.Contains(r.Verbs, "patch")
	}) {
		t.Errorf("no rule for Ingress in %+v", rules)
	}
}
