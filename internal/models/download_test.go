package models

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// host serves one file and breaks off as it is told to.
type host struct {
	content string
	etag    string

	mu     sync.Mutex
	breaks []int // after how many bytes each request breaks off; beyond, none does
	asked  []string
	status []int // to answer first
}

func (h *host) next(r *http.Request) (breakAt, status int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, r.Header.Get("Range"))
	breakAt = -1
	if len(h.status) > 0 {
		status, h.status = h.status[0], h.status[1:]
		return breakAt, status
	}
	if len(h.breaks) > 0 {
		breakAt, h.breaks = h.breaks[0], h.breaks[1:]
	}
	return breakAt, 0
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	breakAt, status := h.next(r)
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	if h.etag != "" {
		w.Header().Set("ETag", h.etag)
	}
	if breakAt >= 0 {
		w = &breaking{ResponseWriter: w, left: breakAt}
	}
	http.ServeContent(w, r, "m.zip", time.Time{}, strings.NewReader(h.content))
}

// breaking drops the connection after some bytes.
type breaking struct {
	http.ResponseWriter
	left int
}

func (b *breaking) Write(p []byte) (int, error) {
	if len(p) < b.left {
		b.left -= len(p)
		return b.ResponseWriter.Write(p)
	}
	_, _ = b.ResponseWriter.Write(p[:b.left])
	_ = http.NewResponseController(b.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
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

func TestADownloadThatBreaksGoesOn(t *testing.T) {
	for _, etag := range []string{"", `"one"`, `W/"weak"`} {
		h := &host{content: strings.Repeat("weights!", 5000), etag: etag, breaks: []int{10000, 0, 25000}}
		s, address := serve(t, h)
		e, err := fetchInto(t, s, address, sumOf(h.content))
		if err != nil {
			t.Fatal(err)
		}
		if f, _ := e.Weights(); f.SHA256 != sumOf(h.content) {
			t.Errorf("ETag %q: got %+v", etag, f)
		}
		if want := "[ bytes=10000- bytes=10000- bytes=35000-]"; fmt.Sprint(h.asked) != want {
			t.Errorf("ETag %q: asked for %v, want %v", etag, h.asked, want)
		}
		if left := hidden(t, s); len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
}

func TestADownloadGoesOnInTheNextCall(t *testing.T) {
	h := &host{content: strings.Repeat("weights!", 5000), breaks: []int{100, 100, 100, 100, 100}}
	s, address := serve(t, h)
	if _, err := fetchInto(t, s, address, sumOf(h.content)); err == nil {
		t.Fatal("a download that breaks off every time succeeded")
	}
	if _, err := fetchInto(t, s, address, sumOf(h.content)); err != nil {
		t.Fatal(err)
	}
	if last := h.asked[len(h.asked)-1]; last != "bytes=500-" {
		t.Errorf("the second call asked for %q", last)
	}
}

func TestChangedContentStartsAgain(t *testing.T) {
	h := &host{content: strings.Repeat("old", 5000), etag: `"old"`, breaks: []int{100, 100, 100, 100, 100}}
	s, address := serve(t, h)
	f := fetch{client: s.client, address: address, path: s.downloadPath(address, "")}
	if _, err := s.download(t.Context(), address, "", nil); err == nil {
		t.Fatal("a download that breaks off every time succeeded")
	}
	h.content, h.etag = strings.Repeat("new", 5000), `"new"`
	path, err := s.download(t.Context(), address, "", nil)
	if err != nil || path != f.path {
		t.Fatal(path, err)
	}
	if got, _ := hashFile(t.Context(), path, discard{io.Discard}); got != sumOf(h.content) {
		t.Error("the new content was appended to the old")
	}
}

func TestWhatIsNotExpectedIsThrownAway(t *testing.T) {
	h := &host{content: "something else"}
	s, address := serve(t, h)
	for range 2 {
		if _, err := fetchInto(t, s, address, sumOf("weights")); err == nil || !strings.Contains(err.Error(), "expected is "+sumOf("weights")) {
			t.Fatalf("%v", err)
		}
	}
	if fmt.Sprint(h.asked) != "[ ]" {
		t.Errorf("wrong content was gone on with: %q", h.asked)
	}
}

func TestServersThatAreBusyAreAskedAgain(t *testing.T) {
	h := &host{content: "weights", status: []int{503, 429}}
	s, address := serve(t, h)
	if _, err := fetchInto(t, s, address, sumOf("weights")); err != nil {
		t.Error(err)
	}
	h.status = []int{404}
	if _, err := fetchInto(t, s, address+"2", sumOf("weights")); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
	if len(h.status) > 0 || len(h.asked) != 4 {
		t.Errorf("a missing file was asked for again: %v", h.asked)
	}
}

func TestProgressCountsEveryByte(t *testing.T) {
	h := &host{content: strings.Repeat("w", 5000), breaks: []int{2000}}
	s, address := serve(t, h)
	counts := map[string]*counter{}
	progress := func(what string, size int64) io.WriteCloser {
		c := &counter{size: size}
		counts[what] = c
		return c
	}
	dir := folder(t)
	drop(t, dir, "onnx/model.onnx")
	_, err := s.Add(t.Context(), Request{Name: "mine", From: []string{address, dir}, SHA256: []string{sumOf(h.content)}, Progress: progress})
	if err != nil {
		t.Fatal(err)
	}
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
