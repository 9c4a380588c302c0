package supervisor

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"os"
	"text/template"

	"github.com/gatemark/gatemark/cluster/local/handshake"
	"github.com/gatemark/gatemark/cluster/local/layout"
	"github.com/gatemark/gatemark/cluster/local/pki"
)

//go:embed files
var files embed.FS

// pauseImage holds a pod's namespaces open. It is made here and loaded.
const pauseImage = "gatemark.local/pause:1"

// values are what the configuration files are filled with.
type values struct {
	Name        string
	Dir         layout.Dir
	NodeDir     string
	CgroupRoot  string
	Snapshotter string
	PauseImage  string
	NodeIP      string
	DNSIP       string
	MetricsIP   string
	PodCIDR     string
	CABundle    string
}

func newValues(s handshake.Settings, snapshotter string) values {
	return values{
		Name:        s.Name,
		Dir:         layout.Dir(s.Dir),
		NodeDir:     s.NodeDir,
		CgroupRoot:  CgroupRoot(s.Name),
		Snapshotter: snapshotter,
		PauseImage:  pauseImage,
		NodeIP:      nodeIP,
		DNSIP:       dnsIP,
		MetricsIP:   metricsIP,
		PodCIDR:     podCIDR,
	}
}

// CgroupRoot is the cgroup that holds all of a cluster's cgroups: one for
// each component, and "pods".
func CgroupRoot(name string) string { return CgroupParent + "/" + name }

// CgroupParent holds the cgroups of all clusters.
const CgroupParent = "/gatemark"

func render(name string, v values) ([]byte, error) {
	t, err := template.ParseFS(files, "files/"+name)
	if err != nil {
		return nil, fmt.Errorf("reading template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, v); err != nil {
		return nil, fmt.Errorf("filling in %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// writeConfig writes the files that components are configured by.
func writeConfig(s handshake.Settings, v values) error {
	names := []string{"audit-policy.yaml"}
	if s.Full {
		names = append(names, "containerd.toml", "kubelet.yaml", "kube-proxy.yaml", "Corefile", "resolv.conf")
	}
	for _, name := range names {
		text, err := render(name, v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(v.Dir.Config(name), text, 0o644); err != nil {
			return fmt.Errorf("writing configuration: %w", err)
		}
	}
	// Made here, because the API server would let only root read it, and the
	// status audit runs in a pod without root.
	if err := os.WriteFile(v.Dir.Audit(), nil, 0o644); err != nil {
		return fmt.Errorf("making the audit log: %w", err)
	}
	if !s.Full {
		return nil
	}
	text, err := render("cni.conflist", v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(v.Dir.CNI()+"/10-gatemark.conflist", text, 0o644); err != nil {
		return fmt.Errorf("writing configuration: %w", err)
	}
	return nil
}

func caBundle(ca *pki.Authority) string {
	return base64.StdEncoding.EncodeToString(ca.CertPEM())
}
