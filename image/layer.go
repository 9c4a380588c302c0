package image

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// An entry is one file or directory of a layer.
type entry struct {
	path string // in the image, absolute
	mode fs.FileMode
	host string // contents: a file on this machine, or
	data []byte // these bytes
}

// epoch is the time of everything in an image: a build's own time would
// make equal images differ.
var epoch = time.Unix(0, 0).UTC()

// fileLayer is an uncompressed layer in a file.
type fileLayer struct {
	path string
	hash v1.Hash
	size int64
}

var _ v1.Layer = (*fileLayer)(nil)

func (l *fileLayer) Digest() (v1.Hash, error)             { return l.hash, nil }
func (l *fileLayer) DiffID() (v1.Hash, error)             { return l.hash, nil }
func (l *fileLayer) Compressed() (io.ReadCloser, error)   { return os.Open(l.path) }
func (l *fileLayer) Uncompressed() (io.ReadCloser, error) { return os.Open(l.path) }
func (l *fileLayer) Size() (int64, error)                 { return l.size, nil }
func (l *fileLayer) MediaType() (types.MediaType, error)  { return types.OCIUncompressedLayer, nil }

// writeLayer writes entries, with the directories that they need, into a
// layer at file.
func writeLayer(file string, entries []entry) (*fileLayer, error) {
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	out := &hashingWriter{w: f, sum: sha256.New()}
	t := tar.NewWriter(out)
	for _, e := range withParents(entries) {
		if err := writeEntry(t, e); err != nil {
			return nil, fmt.Errorf("writing layer: %s: %w", e.path, err)
		}
	}
	if err := t.Close(); err != nil {
		return nil, fmt.Errorf("writing layer: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("writing layer: %w", err)
	}
	digest := v1.Hash{Algorithm: "sha256", Hex: hex.EncodeToString(out.sum.Sum(nil))}
	return &fileLayer{path: file, hash: digest, size: out.n}, nil
}

func writeEntry(t *tar.Writer, e entry) error {
	h := &tar.Header{
		Name:    strings.TrimPrefix(e.path, "/"),
		Mode:    int64(e.mode.Perm()),
		ModTime: epoch,
		Format:  tar.FormatPAX,
	}
	if e.mode&fs.ModeSticky != 0 {
		h.Mode |= 0o1000
	}
	if e.mode.IsDir() {
		h.Typeflag, h.Name = tar.TypeDir, h.Name+"/"
		return t.WriteHeader(h)
	}
	h.Typeflag, h.Size = tar.TypeReg, int64(len(e.data))
	if e.host == "" {
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(e.data)
		return err
	}
	f, err := os.Open(e.host)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	h.Size = info.Size()
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

// withParents adds missing directories and sorts by path, so that a
// directory comes before what is in it.
func withParents(entries []entry) []entry {
	known := map[string]bool{"/": true}
	for _, e := range entries {
		known[e.path] = true
	}
	all := slices.Clone(entries)
	for _, e := range entries {
		for dir := path.Dir(e.path); !known[dir]; dir = path.Dir(dir) {
			known[dir] = true
			all = append(all, entry{path: dir, mode: fs.ModeDir | 0o755})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return all
}

type hashingWriter struct {
	w   io.Writer
	sum hash.Hash
	n   int64
}

func (h *hashingWriter) Write(p []byte) (int, error) {
	n, err := h.w.Write(p)
	h.sum.Write(p[:n])
	h.n += int64(n)
	return n, err
}

func sha256File(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
