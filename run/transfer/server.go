package transfer

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gatemark/gatemark/result"
)

// Handler serves a run directory and the runner's status to holders of token.
func Handler(token string, dir result.Directory, status func() Status) http.Handler {
	s := &server{dir: dir, status: status}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status", s.serveStatus)
	mux.HandleFunc("GET /v1/trials/{id}", s.serveFiles)
	mux.HandleFunc("GET /v1/trials/{id}/{name...}", s.serveRange)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(TokenHeader)), []byte(token)) != 1 {
			http.Error(w, "the run's token is missing or wrong", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type server struct {
	dir    result.Directory
	status func() Status
}

func (s *server) serveStatus(w http.ResponseWriter, _ *http.Request) {
	status := s.status()
	ids, err := s.dir.TrialIDs()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	status.Trials = ids
	writeJSON(w, status)
}

func (s *server) serveFiles(w http.ResponseWriter, r *http.Request) {
	id, err := s.trial(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	names, err := s.dir.TrialFiles(id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	var files []File
	for _, name := range names {
		file, err := describe(s.dir.TrialPath(id), name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		files = append(files, file)
	}
	writeJSON(w, files)
}

// serveRange answers ?offset=N&length=N of a file, with the range's checksum.
func (s *server) serveRange(w http.ResponseWriter, r *http.Request) {
	id, err := s.trial(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	name := r.PathValue("name")
	offset, err1 := strconv.ParseInt(r.FormValue("offset"), 10, 64)
	length, err2 := strconv.ParseInt(r.FormValue("length"), 10, 64)
	if err := errors.Join(err1, err2); err != nil || !filepath.IsLocal(name) || length < 0 || length > rangeSize {
		http.Error(w, fmt.Sprintf("bad range of %q", name), http.StatusBadRequest)
		return
	}
	f, err := os.Open(filepath.Join(s.dir.TrialPath(id), name))
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer f.Close()
	data := make([]byte, length)
	n, err := f.ReadAt(data, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set(ChecksumHeader, checksum(data[:n]))
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(data[:n]) // a cut answer is the client's to notice: it has the checksum
}

// trial returns the trial that the request names, if it is whole.
func (s *server) trial(r *http.Request) (string, error) {
	ids, err := s.dir.TrialIDs()
	if err != nil {
		return "", err
	}
	id := r.PathValue("id")
	if !slices.Contains(ids, id) {
		return "", fmt.Errorf("trial %q: %w", id, fs.ErrNotExist)
	}
	return id, nil
}

func describe(root, name string) (File, error) {
	f, err := os.Open(filepath.Join(root, name))
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	return File{Name: name, Size: size, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}
