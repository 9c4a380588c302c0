// Command node is every Kubernetes component of a local cluster's node in one
// file: they share most of their code, so that one link and one copy in the
// page cache serve them all. The component is chosen by the name that the
// command is called by, else by its first argument.
//
// It is a module of its own because Kubernetes' own module needs a replace
// line for each of its staging modules, and its dependencies must not decide
// over those of gatemark.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// components maps a name to a main function that reads os.Args and returns
// the exit code.
var components = map[string]func() int{
	"coredns":                 coreDNS,
	"etcd":                    etcd,
	"kube-apiserver":          apiServer,
	"kube-controller-manager": controllerManager,
	"kube-proxy":              proxy,
	"kube-scheduler":          scheduler,
	"kubectl":                 kubectl,
	"kubelet":                 kubelet,
	"metrics-server":          metricsServer,
}

func main() {
	if run, ok := components[filepath.Base(os.Args[0])]; ok {
		os.Exit(run())
	}
	if len(os.Args) > 1 {
		if run, ok := components[os.Args[1]]; ok {
			os.Args = os.Args[1:]
			os.Exit(run())
		}
	}
	names := slices.Sorted(maps.Keys(components))
	fmt.Fprintf(os.Stderr, "node: call it as, or with a first argument of: %s\n", strings.Join(names, ", "))
	os.Exit(2)
}
