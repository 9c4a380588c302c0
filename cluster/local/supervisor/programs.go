package supervisor

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
)

// programs makes the components' command lines.
type programs struct {
	dir     layout.Dir
	nodeDir string
	name    string
	full    bool
}

func newPrograms(s handshake.Settings) programs {
	return programs{dir: layout.Dir(s.Dir), nodeDir: s.NodeDir, name: s.Name, full: s.Full}
}

// node is a component inside the multi-call program.
func (p programs) node(name string, args ...string) component {
	return p.program("node", name, args...)
}

func (p programs) program(file, name string, args ...string) component {
	return component{name: name, command: command{
		path: filepath.Join(p.nodeDir, file),
		argv: append([]string{name}, args...),
		env:  p.env(),
		log:  p.dir.Log(name),
	}}
}

// env is the environment of every component: containerd finds its shim, and
// kube-proxy finds nft, by PATH; a proxy that the user's environment names
// must not get between the components.
func (p programs) env() []string {
	env := []string{
		"PATH=" + p.nodeDir + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + string(p.dir),
		"TMPDIR=/tmp",
	}
	for _, kv := range os.Environ() {
		if strings.HasPrefix(kv, "LANG=") || strings.HasPrefix(kv, "TZ=") {
			env = append(env, kv)
		}
	}
	return env
}

func (p programs) kubeconfig(client string) string { return p.dir.PKI(client + ".kubeconfig") }

const etcdURL = "http://127.0.0.1:2379"

func (p programs) etcd() component {
	return p.node("etcd",
		"--name="+p.name,
		"--data-dir="+p.dir.Etcd(),
		"--listen-client-urls="+etcdURL,
		"--advertise-client-urls="+etcdURL,
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster="+p.name+"=http://127.0.0.1:2380",
		"--quota-backend-bytes=8589934592",
		"--auto-compaction-mode=periodic",
		"--auto-compaction-retention=5m",
		"--log-level=warn",
	)
}

func (p programs) apiServer() component {
	advertise := nodeIP
	if !p.full {
		advertise = "127.0.0.1"
	}
	args := []string{
		"--advertise-address=" + advertise,
		"--secure-port=6443",
		"--etcd-servers=" + etcdURL,
		"--service-cluster-ip-range=" + serviceCIDR,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--client-ca-file=" + p.dir.PKI("ca.crt"),
		"--tls-cert-file=" + p.dir.PKI("apiserver.crt"),
		"--tls-private-key-file=" + p.dir.PKI("apiserver.key"),
		"--kubelet-certificate-authority=" + p.dir.PKI("ca.crt"),
		"--kubelet-client-certificate=" + p.dir.PKI("apiserver-kubelet-client.crt"),
		"--kubelet-client-key=" + p.dir.PKI("apiserver-kubelet-client.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.dir.PKI("service-accounts.pub"),
		"--service-account-signing-key-file=" + p.dir.PKI("service-accounts.key"),
		"--requestheader-client-ca-file=" + p.dir.PKI("front-proxy-ca.crt"),
		"--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + p.dir.PKI("front-proxy-client.crt"),
		"--proxy-client-key-file=" + p.dir.PKI("front-proxy-client.key"),
		"--audit-policy-file=" + p.dir.Config("audit-policy.yaml"),
		"--audit-log-path=" + p.dir.Audit(),
		// Readers follow one file: it is not rotated within any run's reach.
		"--audit-log-maxsize=4096",
		"--allow-privileged=true",
	}
	if !p.full {
		// The API server refuses to advertise a loopback address.
		args = append(args, "--endpoint-reconciler-type=none")
	}
	return p.node("kube-apiserver", args...)
}

func (p programs) controllerManager() component {
	return p.node("kube-controller-manager",
		"--kubeconfig="+p.kubeconfig("kube-controller-manager"),
		"--authentication-kubeconfig="+p.kubeconfig("kube-controller-manager"),
		"--authorization-kubeconfig="+p.kubeconfig("kube-controller-manager"),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+p.dir.PKI("service-accounts.key"),
		"--root-ca-file="+p.dir.PKI("ca.crt"),
		"--cluster-signing-cert-file="+p.dir.PKI("ca.crt"),
		"--cluster-signing-key-file="+p.dir.PKI("ca.key"),
		"--client-ca-file="+p.dir.PKI("ca.crt"),
		"--requestheader-client-ca-file="+p.dir.PKI("front-proxy-ca.crt"),
		"--allocate-node-cidrs=false",
		"--cluster-name="+p.name,
		// See kubelet.yaml: set-up must not wait for clients' limits.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

func (p programs) scheduler() component {
	return p.node("kube-scheduler",
		"--tls-cert-file="+p.dir.PKI("kube-scheduler.crt"),
		"--tls-private-key-file="+p.dir.PKI("kube-scheduler.key"),
		"--kubeconfig="+p.kubeconfig("kube-scheduler"),
		"--authentication-kubeconfig="+p.kubeconfig("kube-scheduler"),
		"--authorization-kubeconfig="+p.kubeconfig("kube-scheduler"),
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

func (p programs) containerd() component {
	return p.program("containerd", "containerd", "--config="+p.dir.Config("containerd.toml"), "--log-level=warn")
}

func (p programs) ctr(args ...string) component {
	c := p.program("ctr", "ctr", append([]string{"--address=" + p.dir.Containerd("containerd.sock"), "--namespace=k8s.io"}, args...)...)
	c.log = p.dir.Log("containerd")
	return c
}

func (p programs) kubelet() component {
	return p.node("kubelet",
		"--config="+p.dir.Config("kubelet.yaml"),
		"--kubeconfig="+p.kubeconfig("kubelet"),
		"--hostname-override="+p.name,
		"--node-ip="+nodeIP,
	)
}

func (p programs) proxy() component {
	return p.node("kube-proxy", "--config="+p.dir.Config("kube-proxy.yaml"))
}

func (p programs) coreDNS() component {
	return p.node("coredns", "-conf="+p.dir.Config("Corefile"))
}

func (p programs) metricsServer() component {
	return p.node("metrics-server",
		"--kubeconfig="+p.kubeconfig("metrics-server"),
		"--authentication-kubeconfig="+p.kubeconfig("metrics-server"),
		"--authorization-kubeconfig="+p.kubeconfig("metrics-server"),
		"--bind-address="+nodeIP,
		"--secure-port=4443",
		"--tls-cert-file="+p.dir.PKI("metrics-server.crt"),
		"--tls-private-key-file="+p.dir.PKI("metrics-server.key"),
		"--kubelet-certificate-authority="+p.dir.PKI("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP",
		"--metric-resolution=15s",
	)
}
