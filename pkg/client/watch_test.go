package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
)

func TestWatchReadsEvents(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/stream" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		_, _ = io.WriteString(w, "retry: 2000\n\nevent: tools\ndata: {\"changed\":\ndata: 1}\n\n:\n\nevent: weights\r\ndata:{}\r\n\r\nevent: cut\ndata: off")
	})
	var got []string
	note := func(e Event) error { got = append(got, e.Name+" "+string(e.Data)); return nil }
	if err := c.Watch(t.Context(), note); err != nil || !slices.Equal(got, []string{`tools {"changed":1}`, "weights {}"}) {
		t.Errorf("%q, %v", got, err)
	}
	enough := errors.New("enough")
	if err := c.Watch(t.Context(), func(Event) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
	refusing := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	var p *Problem
	if err := refusing.Watch(t.Context(), note); !errors.As(err, &p) || p.Status != http.StatusForbidden {
		t.Error(err)
	}
}

// endless is a connection that says something once, and nothing after.
type endless struct {
	ctx  context.Context
	said bool
}

func (e *endless) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: &endless{ctx: r.Context()}, Request: r}, nil
}

func (e *endless) Read(p []byte) (int, error) {
	if !e.said {
		e.said = true
		return copy(p, ":\n\n"), nil
	}
	<-e.ctx.Done()
	return 0, e.ctx.Err()
}

func (e *endless) Close() error { return nil }

// A connection that is dead is given up, also where nothing says that it is.
func TestWatchGivesUpASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{HTTP: &http.Client{Transport: &endless{}}}
		if err := c.Watch(t.Context(), func(Event) error { return nil }); !errors.Is(err, errSilent) {
			t.Error(err)
		}
	})
}
