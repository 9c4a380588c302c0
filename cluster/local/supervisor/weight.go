package supervisor

import "runtime"

// podsCgroup holds the cgroups of all pods.
const podsCgroup = "pods"

// cpuShares is what a component gets of busy CPUs: what its static pod asks
// for where kubeadm makes the cluster, and for all pods together what the
// kubelet gives them, a whole share for each CPU. So a busy gateway finds the
// proportions that it would find on an ordinary node. Those that are not named
// keep the kernel's default, as system services do.
func cpuShares(component string) (shares int, ok bool) {
	shares, ok = map[string]int{
		"etcd":                    102,
		"kube-apiserver":          256,
		"kube-controller-manager": 204,
		"kube-scheduler":          102,
		"coredns":                 102,
		"metrics-server":          102,
		podsCgroup:                1024 * runtime.NumCPU(),
	}[component]
	return shares, ok
}

// clusterShares is what a whole cluster gets of busy CPUs beside a process of
// this machine that is in no cgroup: as much as ten of them on each CPU. What
// is measured in a cluster should depend little on what else is done here.
func clusterShares() int { return 10 * 1024 * runtime.NumCPU() }
