package main

import (
	"context"
	"os"
	_ "time/tzdata" // CronJobs name time zones

	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's client plugins
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserverapp "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanagerapp "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxyapp "k8s.io/kubernetes/cmd/kube-proxy/app"
	schedulerapp "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeletapp "k8s.io/kubernetes/cmd/kubelet/app"
)

func apiServer() int { return cli.Run(apiserverapp.NewAPIServerCommand()) }

func controllerManager() int { return cli.Run(controllermanagerapp.NewControllerManagerCommand()) }

func scheduler() int { return cli.Run(schedulerapp.NewSchedulerCommand()) }

func proxy() int { return cli.Run(proxyapp.NewProxyCommand()) }

func kubelet() int { return cli.Run(kubeletapp.NewKubeletCommand(context.Background())) }

func kubectl() int {
	// The verbosity must be known while the command is being made: plugins
	// and preferences are read then.
	if _, err := logs.GlogSetter(cmd.GetLogVerbosity(os.Args)); err != nil {
		util.CheckErr(err)
	}
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err) // prints in kubectl's way and exits
	}
	return 0
}
