//go:build unix

package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/toolstream/toolstream/internal/config"
	"github.com/toolstream/toolstream/internal/testing/apitest"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// What one request may cost.
const (
	mostProcessor = time.Second
	mostMemory    = 64 << 20 // bytes allocated
)

// operations returns the operations of the OpenAPI document, and an unknown one.
func operations(f *testing.F, e *Embedded) []apitest.Operation {
	f.Helper()
	all := check.Value(apitest.Operations(call(e, "", "GET", "/openapi.json", "").Body.Bytes()))(f)
	return append(all, apitest.Operation{Method: "PATCH", Path: "/v1/{id}"})
}

// No request makes a handler panic, fail, or take more than a second of processor or 64 MB.
func FuzzHTTP(f *testing.F) {
	cfg := check.Value(config.Load("", map[string]any{"data": f.TempDir(), "listen": "127.0.0.1:0"}))(f)
	e := check.Value(OpenEmbedded(f.Context(), cfg, slog.New(slog.DiscardHandler), "test"))(f)
	done := make(chan error, 1)
	go func() { done <- e.Run(f.Context()) }()
	f.Cleanup(func() {
		check.OK(f, <-done)
	})
	for e.whyNotReady() != nil {
		runtime.Gosched()
	}
	all := operations(f, e)
	const jsonType = "Content-Type: application/json"
	for i, op := range all {
		for _, headers := range []string{"", jsonType, "Content-Type: ", "Content-Type: application/cloudevents-batch+json\nAccept: application/xml"} {
			for _, body := range []string{"", "{}", "[]", "null", `"`, "[[[[", op.Example, manyUnknown} {
				f.Add(uint8(i), "tides", "", headers, []byte(body))
			}
		}
		f.Add(uint8(i), "tides", "q=%ff&k=-1&limit=0&cursor=x&version=1&version=2", "", []byte(nil))
		f.Add(uint8(i), "%00", "limit=99999999999999999999", "Content-Encoding: gzip\nContent-Type: ;", []byte("\x1f\x8b"))
		f.Add(uint8(i), "..", "", "ce-specversion: 1.0\nce-type: tool.deleted\nce-source: /\nce-id: \nce-subject: ", []byte(nil))
		f.Add(uint8(i), strings.Repeat("é", 300), "", "ce-specversion: 1.0\nce-type: tool.registered\nce-source: /\nce-id: 1\nContent-Type: text/plain", []byte("x"))
	}
	f.Fuzz(func(t *testing.T, n uint8, id, query, headers string, body []byte) {
		op := all[int(n)%len(all)]
		path := op.Fill(func() string { return id })
		if _, err := url.Parse(local + path); err != nil {
			path = op.Fill(func() string { return url.PathEscape(id) })
		}
		r, err := http.NewRequest(op.Method, local+path, bytes.NewReader(body))
		if err != nil {
			t.Skip(err)
		}
		r.URL.RawQuery, r.RemoteAddr, r.RequestURI = query, "127.0.0.1:1", path
		for line := range strings.Lines(headers) {
			name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			if httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(value) { // the server refuses others
				r.Header.Add(name, value)
			}
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := processor()
		w := recorded(e, r)
		took := processor() - begin
		runtime.ReadMemStats(&after)
		if w.Code >= 500 {
			t.Errorf("%s %s: %d %s", op.Method, r.URL, w.Code, w.Body)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; took > mostProcessor || allocated > mostMemory {
			t.Errorf("%s %s took %s of processor and %d MB", op.Method, r.URL, took, allocated>>20)
		}
	})
}

// processor is the time of processors that this process has used.
func processor() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // it fails for a bad argument alone
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// manyUnknown is an object whose every member is an error.
var manyUnknown = func() string {
	var b strings.Builder
	b.WriteString("{")
	for i := range 5000 {
		b.WriteString(`"m`)
		b.WriteString(strings.Repeat("x", i%7))
		b.WriteString(string(rune('a' + i%26)))
		b.WriteString(time.Duration(i).String())
		b.WriteString(`":{},`)
	}
	return b.String() + `"z":1}`
}()
