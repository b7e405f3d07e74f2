package modelstore

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// host serves one file, after it failed as often as it is told to.
type host struct {
	content string
	status  []int // to answer first; 0 breaks off in the middle
	asked   int
}

func (h *host) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	h.asked++
	if len(h.status) > 0 {
		status := h.status[0]
		h.status = h.status[1:]
		if status == 0 {
			w.Header().Set("Content-Length", fmt.Sprint(len(h.content)))
			_, _ = io.WriteString(w, h.content[:len(h.content)/2])
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
	s.client, s.pause = server.Client(), time.Millisecond
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
