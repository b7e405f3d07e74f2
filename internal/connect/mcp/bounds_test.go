package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// allocated returns how many bytes are allocated while do runs.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Three bytes of a list become several hundred once they are decoded: a list is counted before.
func TestAListIsCountedBeforeItIsDecoded(t *testing.T) {
	const most = 128 << 20
	list := "[" + strings.Repeat("{},", 2_000_000) + "{}]" // 6 MB
	values := `[{"name":"a","inputSchema":{"x":[` + strings.Repeat("[],", 2_000_000) + `[]]}}]`
	wide := func(at source.Place) source.Place {
		at.Limits = source.Limits{Pages: 50, Tools: 20_000, Bytes: 64 << 20}
		return at
	}
	for name, tools := range map[string]string{"many tools": list, "many values": values} {
		for _, events := range []bool{false, true} {
			s, _ := mustConnect(t, wide(unlimited(t, serve(t, scriptedAs(events, func(string) string { return `{"tools":` + tools + `}` })))))
			var err error
			if used := allocated(func() { _, err = s.List(t.Context(), true) }); !errors.Is(err, source.ErrSize) || used > most {
				t.Errorf("%s, as events %v: %d MB, %v", name, events, used>>20, err)
			}
		}
	}
	g := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"servers":%s}`, list) })
	at := wide(unlimited(t, serve(t, g)))
	s := check.Value(Registry{}.Connect(t.Context(), at, nil))(t)
	var err error
	if used := allocated(func() { _, err = s.List(t.Context(), true) }); !errors.Is(err, source.ErrSize) || used > most {
		t.Errorf("a registry: %d MB, %v", used>>20, err)
	}
}

func TestAnAnswerIsCountedBeforeItIsDecoded(t *testing.T) {
	const most = 96 << 20
	answer := `{"content":[],"structuredContent":{"a":[` + strings.Repeat("[],", 1_600_000) + `[]]}}` // 4.8 MB
	for _, events := range []bool{false, true} {
		at := unlimited(t, serve(t, scriptedAs(events, func(string) string { return answer })))
		at.Limits = source.Limits{Pages: 50, Bytes: 5 << 20}
		c := check.Value(Connector{Version: "test"}.Open(t.Context(), at))(t)
		t.Cleanup(c.Close)
		var err error
		used := allocated(func() { _, err = c.Call(t.Context(), source.Call{Tool: "a"}) })
		var failed *source.CallError
		if !errors.As(err, &failed) || !failed.Refused || !strings.Contains(err.Error(), "too large") || used > most {
			t.Errorf("as events %v: %d MB, %v", events, used>>20, err)
		}
	}
}

// unlimited is a place whose bodies have no bound of their own.
func unlimited(t *testing.T, address string) source.Place {
	at := place(t, address)
	all := outbound.NewTransports(outbound.Policy{Loopback: true})
	t.Cleanup(all.Close)
	at.Client = all.Client(outbound.Options{})
	return at
}

const chatter = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n"

// A server that never ends the stream of an answer ends the call, not a processor.
func TestAnEndlessAnswerEndsTheCall(t *testing.T) {
	sent := make(chan int, 1)
	quiet := scripted(func(string) string { return `{}` })
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := check.Value(io.ReadAll(r.Body))(t)
		if !strings.Contains(string(body), `"tools/call"`) {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			quiet.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		n := 0
		for ; n < 1_000_000; n++ {
			if _, err := io.WriteString(w, chatter); err != nil {
				break
			}
		}
		sent <- n
	})
	at := unlimited(t, serve(t, h))
	at.Limits = source.Limits{Pages: 50, Bytes: 5 << 20}
	c := check.Value(Connector{Version: "test"}.Open(t.Context(), at))(t)
	t.Cleanup(c.Close)
	_, err := c.Call(t.Context(), source.Call{Tool: "a"})
	var failed *source.CallError
	if !errors.As(err, &failed) || !failed.Refused || !strings.Contains(err.Error(), "10000 events") || !c.Lost() {
		t.Errorf("%v, lost %v", err, c.Lost())
	}
	if n := <-sent; n == 1_000_000 {
		t.Error("the stream was read to its end")
	}
}

func TestAnOpenStreamIsReadAtItsRate(t *testing.T) {
	at := time.Unix(0, 0)
	var waited time.Duration
	p := pace(t.Context(), strings.NewReader(strings.Repeat(chatter, 3*burstEvents)))
	p.now = func() time.Time { return at }
	p.wait = func(late time.Duration) <-chan time.Time {
		waited += late
		at = at.Add(late)
		now := make(chan time.Time, 1)
		now <- at
		return now
	}
	if got := check.Value(io.ReadAll(p))(t); len(got) != 3*burstEvents*len(chatter) {
		t.Errorf("%d bytes", len(got))
	}
	if waited != 2*burstEvents*eventEvery {
		t.Errorf("waited %v", waited)
	}
	var r rate
	if late := r.take(at, 0, burstBytes+100<<20); late < 90*time.Second {
		t.Errorf("100 MiB more than a list wait %v", late)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p = pace(ctx, strings.NewReader(strings.Repeat("\n", burstEvents+10)))
	if _, err := io.ReadAll(p); !errors.Is(err, context.Canceled) {
		t.Errorf("a stream that was closed: %v", err)
	}
}
