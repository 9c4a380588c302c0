package architecture

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestPrivilegesOfAPod(t *testing.T) {
	ordinary := corev1.PodSpec{
		Containers: []corev1.Container{{Name: "a", SecurityContext: &corev1.SecurityContext{
			Privileged: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}, Ports: []corev1.ContainerPort{{ContainerPort: 80}}}},
		Volumes: []corev1.Volume{{Name: "x", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}
	if got := privilegesOf(&ordinary); got != nil {
		t.Errorf("an ordinary pod has %v", got)
	}
	powerful := corev1.PodSpec{
		HostNetwork: true, HostPID: true,
		InitContainers: []corev1.Container{{Name: "i", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)}}},
		Containers: []corev1.Container{{Name: "a", Ports: []corev1.ContainerPort{{HostPort: 80}},
			SecurityContext: &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"NET_ADMIN"}}}}},
		Volumes: []corev1.Volume{{Name: "x", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/sys"}}}},
	}
	want := []string{"the node's network", "the node's processes", "the node's path /sys", "privileged", "the node's port 80", "capability NET_ADMIN"}
	if diff := cmp.Diff(want, privilegesOf(&powerful)); diff != "" {
		t.Errorf("privileges (-want +got):\n%s", diff)
	}
}

func TestAPodsWorkload(t *testing.T) {
	owned := func(kind, name, hash string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "p"}}
		if kind != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: name, Controller: ptr.To(true)}}
		}
		if hash != "" {
			p.Labels = map[string]string{"pod-template-hash": hash}
		}
		return p
	}
	for want, pod := range map[string]*corev1.Pod{
		"pod n/p":               owned("", "", ""),
		"daemonset n/envoy":     owned("DaemonSet", "envoy", ""),
		"deployment n/envoy-gw": owned("ReplicaSet", "envoy-gw-5f7", "5f7"),
		"replicaset n/alone":    owned("ReplicaSet", "alone", ""),
	} {
		if got := workloadOf(pod); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestATokenIsAVolume(t *testing.T) {
	with := corev1.PodSpec{Volumes: []corev1.Volume{{Name: "t", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{}}, {ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}},
	}}}}}
	if !hasToken(&with) || hasToken(&corev1.PodSpec{}) {
		t.Error("tokens are not told")
	}
}

func TestServicesAtAnAddress(t *testing.T) {
	service := func(name, cluster, ingress string, port int32) corev1.Service {
		s := corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Spec: corev1.ServiceSpec{ClusterIP: cluster, Ports: []corev1.ServicePort{{Port: port}}}}
		if ingress != "" {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ingress}}
		}
		return s
	}
	all := []corev1.Service{
		service("balanced", "10.0.0.1", "192.0.2.1", 80), service("another-port", "10.0.0.2", "192.0.2.1", 443),
		service("inside", "10.0.0.3", "", 80), service("none", "", "", 80),
	}
	for address, want := range map[string]string{
		"192.0.2.1": "service n/balanced", "10.0.0.3": "service n/inside", "inside.n.svc.cluster.local": "service n/inside", "192.0.2.9": "", "": "",
	} {
		if got := serviceNames(servicesAt(all, []string{address}, 80)); got != want {
			t.Errorf("at %q: %q, want %q", address, got, want)
		}
	}
}

func TestWhatAnAccountMayDo(t *testing.T) {
	rule := func(verb, group, resource string, names ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: names}
	}
	account := func(namespace, name string) []rbacv1.Subject {
		return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}}
	}
	b := &bindings{
		clusterRoles: map[string][]rbacv1.PolicyRule{
			"admin":   {rule("*", "*", "*")},
			"secrets": {rule("list", "", "secrets"), rule("get", "", "services")},
			"one":     {rule("get", "", "secrets", "only-this")},
			"patchy":  {rule("patch", "apps", "*")},
		},
		roles: map[string][]rbacv1.PolicyRule{"a/pods": {rule("create", "", "pods")}, "b/pods": {rule("get", "", "pods")}},
		wide: []rbacv1.ClusterRoleBinding{
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "admin"}, Subjects: account("kube-system", "root")},
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "secrets"}, Subjects: account("a", "reader")},
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "one"}, Subjects: account("a", "narrow")},
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "patchy"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:serviceaccounts:b"}}},
		},
		narrow: []rbacv1.RoleBinding{
			{ObjectMeta: metav1.ObjectMeta{Namespace: "a"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "pods"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "reader"}}},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "b"}, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "pods"}, Subjects: account("a", "reader")},
			{ObjectMeta: metav1.ObjectMeta{Namespace: "c"}, RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "secrets"}, Subjects: append(account("a", "reader"), account("a", "narrow")...)},
		},
	}
	for name, want := range map[string]string{
		"kube-system/root": "everything in every namespace",
		"a/reader":         "read Secrets in every namespace, make or change pods in a",
		"a/narrow":         "read Secrets in c",
		"b/anyone":         "make or change workloads in every namespace",
		"c/nobody":         "",
	} {
		if got := joinRights(b.of(name)); got != want {
			t.Errorf("%s may %q, want %q", name, got, want)
		}
	}
}
