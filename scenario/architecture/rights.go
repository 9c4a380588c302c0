package architecture

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A permission is something that an account may do, and that a reader would want to
// know of.
type permission struct {
	power string
	// where is a namespace; "" is everywhere.
	where string
}

func (r permission) String() string {
	if r.where == "" {
		return r.power + " in every namespace"
	}
	return r.power + " in " + r.where
}

// A power is told from the rules of a role: one of the verbs on one of the
// resources.
type power struct {
	words     string
	verbs     []string
	group     string
	resources []string
}

// allPowers are what a cluster's administrator may do.
const allPowers = "everything"

var powers = []power{
	{"change roles and who has them", []string{"create", "update", "patch", "escalate", "bind"}, rbacv1.GroupName,
		[]string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"}},
	{"act as others", []string{"impersonate"}, "", []string{"users", "groups", "serviceaccounts"}},
	{"read Secrets", []string{"get", "list", "watch"}, "", []string{"secrets"}},
	{"write Secrets", []string{"create", "update", "patch"}, "", []string{"secrets"}},
	{"run commands in pods", []string{"create", "get"}, "", []string{"pods/exec"}},
	{"make or change pods", []string{"create", "update", "patch"}, "", []string{"pods"}},
	{"make or change workloads", []string{"create", "update", "patch"}, "apps", []string{"deployments", "daemonsets", "statefulsets"}},
	{"change admission webhooks", []string{"create", "update", "patch"}, "admissionregistration.k8s.io",
		[]string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}},
}

// powersOf lists what the rules of a role allow.
func powersOf(rules []rbacv1.PolicyRule) []string {
	for _, rule := range rules {
		if all := []string{rbacv1.VerbAll}; has(rule.Verbs, all) && has(rule.APIGroups, all) && has(rule.Resources, all) && len(rule.ResourceNames) == 0 {
			return []string{allPowers}
		}
	}
	var found []string
	for _, p := range powers {
		if slices.ContainsFunc(rules, p.in) {
			found = append(found, p.words)
		}
	}
	return found
}

func has(list, wanted []string) bool {
	return slices.ContainsFunc(wanted, func(w string) bool { return slices.Contains(list, w) })
}

// in reports whether a rule gives the power. One about objects by their names
// does not: it is as narrow as rules get.
func (p power) in(rule rbacv1.PolicyRule) bool {
	return len(rule.ResourceNames) == 0 &&
		has(rule.Verbs, append([]string{rbacv1.VerbAll}, p.verbs...)) &&
		has(rule.APIGroups, []string{rbacv1.APIGroupAll, p.group}) &&
		has(rule.Resources, append([]string{rbacv1.ResourceAll}, p.resources...))
}

// bindings are all of a cluster's, with the roles that they are of.
type bindings struct {
	wide         []rbacv1.ClusterRoleBinding
	narrow       []rbacv1.RoleBinding
	clusterRoles map[string][]rbacv1.PolicyRule
	roles        map[string][]rbacv1.PolicyRule // namespace/name
}

// seeRights reads what the service accounts of both planes may do.
func (d *dissection) seeRights(ctx context.Context) (map[string][]permission, error) {
	all, err := d.readBindings(ctx)
	if err != nil {
		return nil, err
	}
	rights := map[string][]permission{}
	for _, pod := range slices.Concat(d.control, d.first.pods, d.second.pods) {
		if _, done := rights[pod.account]; !done && pod.account != "" {
			rights[pod.account] = all.of(pod.account)
		}
	}
	return rights, nil
}

func (d *dissection) readBindings(ctx context.Context) (*bindings, error) {
	var wide rbacv1.ClusterRoleBindingList
	var narrow rbacv1.RoleBindingList
	var clusterRoles rbacv1.ClusterRoleList
	var roles rbacv1.RoleList
	for _, list := range []client.ObjectList{&wide, &narrow, &clusterRoles, &roles} {
		if err := d.Kube.List(ctx, list); err != nil {
			return nil, fmt.Errorf("read the cluster's roles: %w", err)
		}
	}
	b := &bindings{wide: wide.Items, narrow: narrow.Items, clusterRoles: map[string][]rbacv1.PolicyRule{}, roles: map[string][]rbacv1.PolicyRule{}}
	for _, r := range clusterRoles.Items {
		b.clusterRoles[r.Name] = r.Rules
	}
	for _, r := range roles.Items {
		b.roles[r.Namespace+"/"+r.Name] = r.Rules
	}
	return b, nil
}

// of lists what an account, namespace/name, may do: what it may do everywhere
// is not repeated for single namespaces.
func (b *bindings) of(account string) []permission {
	found := map[permission]bool{}
	for _, binding := range b.wide {
		if bound(binding.Subjects, account, "") {
			for _, p := range powersOf(b.clusterRoles[binding.RoleRef.Name]) {
				found[permission{power: p}] = true
			}
		}
	}
	for _, binding := range b.narrow {
		if !bound(binding.Subjects, account, binding.Namespace) {
			continue
		}
		rules := b.roles[binding.Namespace+"/"+binding.RoleRef.Name]
		if binding.RoleRef.Kind == "ClusterRole" {
			rules = b.clusterRoles[binding.RoleRef.Name]
		}
		for _, p := range powersOf(rules) {
			if !found[permission{power: p}] {
				found[permission{power: p, where: binding.Namespace}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(x, y permission) int {
		if byPlace := strings.Compare(x.where, y.where); byPlace != 0 {
			return byPlace
		}
		return strings.Compare(x.power, y.power)
	})
}

// bound reports whether an account is among the subjects, by its name or as one
// of a group. A subject without a namespace is in that of its binding.
func bound(subjects []rbacv1.Subject, account, namespace string) bool {
	of, name, _ := strings.Cut(account, "/")
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			in := s.Namespace
			if in == "" {
				in = namespace
			}
			return in == of && s.Name == name
		case rbacv1.GroupKind:
			return s.Name == "system:serviceaccounts" || s.Name == "system:serviceaccounts:"+of || s.Name == "system:authenticated"
		case rbacv1.UserKind:
			return s.Name == "system:serviceaccount:"+of+":"+name
		}
		return false
	})
}
