package mcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
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

// clocked returns a stream whose clock goes on only while it waits, and for how long it has waited.
func clocked(framing jsondoc.Framing, done <-chan struct{}, text string) (*paced, *time.Duration) {
	at, waited := time.Unix(0, 0), new(time.Duration)
	p := pace(done, jsondoc.Counted(strings.NewReader(text), framing, jsondoc.Limits{Bytes: 1 << 20}, nil))
	p.now = func() time.Time { return at }
	p.wait = func(late time.Duration) <-chan time.Time {
		*waited += late
		at = at.Add(late)
		now := make(chan time.Time, 1)
		now <- at
		return now
	}
	return p, waited
}

func TestAnOpenStreamIsReadAtItsRate(t *testing.T) {
	for framing, message := range map[jsondoc.Framing]string{jsondoc.Events: chatter, jsondoc.Messages: "{}\n"} {
		p, waited := clocked(framing, nil, strings.Repeat(message, 3*burstEvents))
		if got := check.Value(io.ReadAll(p))(t); len(got) != 3*burstEvents*len(message) {
			t.Errorf("%d bytes", len(got))
		}
		if *waited != 2*burstEvents*eventEvery {
			t.Errorf("waited %v", *waited)
		}
	}
	var r rate
	if late := r.take(time.Unix(0, 0), 0, burstBytes+100<<20); late < 90*time.Second {
		t.Errorf("100 MiB more than a list wait %v", late)
	}
	closed := make(chan struct{})
	close(closed)
	p, _ := clocked(jsondoc.Events, closed, strings.Repeat("\n", burstEvents+10))
	p.wait = func(time.Duration) <-chan time.Time { return nil }
	if _, err := io.ReadAll(p); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a stream that was closed: %v", err)
	}
}

// The output of a command has the answers to many requests: a request starts the rate again, an answer
// to the command does not.
func TestACommandsOutputIsReadAtItsRate(t *testing.T) {
	for message, want := range map[string]time.Duration{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`: burstEvents * eventEvery,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:           2 * burstEvents * eventEvery,
	} {
		p, waited := clocked(jsondoc.Messages, nil, strings.Repeat("{}\n", 3*burstEvents))
		p.asked = make(chan struct{}, 1)
		check.Value(io.ReadFull(p, make([]byte, len("{}\n")*burstEvents)))(t)
		in := &process{paced: p, in: discarding{io.Discard}}
		check.Value(in.Write([]byte(message)))(t)
		check.Value(io.ReadAll(in))(t)
		if *waited != want {
			t.Errorf("after %s: waited %v, want %v", message, *waited, want)
		}
	}
}

type discarding struct{ io.Writer }

func (discarding) Close() error { return nil }
