package image

import (
	"io/fs"
	"os"
	"strings"
)

// base is what every image has beside its program: accounts, so that a
// numeric user has a name; a place for temporary files; and, where asked
// for, certificate authorities.
func (p *preparation) base() []entry {
	user, group, ok := strings.Cut(p.recipe.user(), ":")
	if !ok {
		group = user
	}
	passwd := "root:x:0:0:root:/:/sbin/nologin\n"
	groups := "root:x:0:\n"
	if user != "0" {
		passwd += "nonroot:x:" + user + ":" + group + ":nonroot:/:/sbin/nologin\n"
	}
	if group != "0" {
		groups += "nonroot:x:" + group + ":\n"
	}
	entries := []entry{
		{path: "/etc/passwd", mode: 0o644, data: []byte(passwd)},
		{path: "/etc/group", mode: 0o644, data: []byte(groups)},
		{path: "/etc/nsswitch.conf", mode: 0o644, data: []byte("hosts: files dns\n")},
		{path: "/tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
	if ca := hostCertificates(); p.recipe.CACertificates && ca != "" {
		entries = append(entries, entry{path: "/etc/ssl/certs/ca-certificates.crt", mode: 0o644, host: ca})
	}
	return entries
}

// hostCertificates is the file of certificate authorities that this machine
// trusts, where distributions keep it; empty where there is none.
func hostCertificates() string {
	for _, file := range []string{
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem",
		"/etc/ssl/cert.pem",
	} {
		if _, err := os.Stat(file); err == nil {
			return file
		}
	}
	return ""
}
