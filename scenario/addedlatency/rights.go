package addedlatency

import (
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/gatemark/gatemark/scenario"
	"github.com/gatemark/gatemark/scenario/attack"
)

// rights are what the runner must be allowed where the kube-apiserver is
// measured. A role can only be made by who has all that it grants.
func rights(v scenario.Values) []rbacv1.PolicyRule {
	if v.String("upstream") != toAPIServer {
		return attack.Rights(v)
	}
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"get", "create", "patch"}},
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"create", "patch"}},
		{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}},
	}
	if v.String("auth") != byCertificate {
		return append(rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, Verbs: []string{"create"}})
	}
	group, requests := []string{certificatesv1.GroupName}, "certificatesigningrequests"
	return append(rules,
		rbacv1.PolicyRule{APIGroups: group, Resources: []string{requests}, Verbs: []string{"get", "create", "delete"}},
		rbacv1.PolicyRule{APIGroups: group, Resources: []string{requests + "/approval"}, Verbs: []string{"update"}},
		rbacv1.PolicyRule{APIGroups: group, Resources: []string{"signers"}, ResourceNames: []string{certificatesv1.KubeAPIServerClientSignerName}, Verbs: []string{"approve"}},
	)
}
