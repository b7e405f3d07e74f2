package httpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"go.opentelemetry.io/otel/propagation"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// auditLog notes what it is told in short: how, action and status.
type auditLog struct {
	mu     sync.Mutex
	events []audit.Event
	said   []string
	writes int   // that succeed, before those that fail; below 0: all succeed
	away   error // of Admit
}

func (l *auditLog) record(how string, e audit.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	l.said = append(l.said, how+" "+e.Action)
}

func (l *auditLog) Admit() error { return l.away }

func (l *auditLog) Write(_ context.Context, e audit.Event) error {
	l.mu.Lock()
	fails := l.writes == 0
	l.writes--
	l.mu.Unlock()
	if fails {
		return audit.ErrUnavailable
	}
	l.record("write", e)
	return nil
}

func (l *auditLog) Sample(e audit.Event) { l.record("sample", e) }
func (l *auditLog) Refuse(e audit.Event) { l.record("refuse", e) }

type nothing struct{}

// changing serves two operations: one that changes two tools and answers of each by itself,
// and a read; and what the peer serves, if there is one.
func changing(t *testing.T, l *auditLog, changed *int, peer string) *httptest.Server {
	t.Helper()
	api, mux := NewAPI("")
	routes := func(api huma.API) {
		huma.Register(api, huma.Operation{OperationID: "change", Method: http.MethodPost, Path: "/v1/things", Security: identity.Needs(identity.Writer)},
			func(ctx context.Context, _ *nothing) (*huma.StreamResponse, error) {
				return &huma.StreamResponse{Body: func(hc huma.Context) {
					for _, id := range []string{"a", "b"} {
						if hc.Context().Err() != nil {
							return
						}
						*changed++
						audit.Annotate(hc.Context(), audit.Details{Tools: []audit.ToolRef{{ID: id}}})
						_, _ = io.WriteString(hc.BodyWriter(), id)
						if w, ok := hc.BodyWriter().(http.ResponseWriter); ok {
							_ = http.NewResponseController(w).Flush()
						}
					}
				}}, nil
			})
		huma.Register(api, huma.Operation{OperationID: "read", Method: http.MethodGet, Path: "/v1/things", Security: identity.Needs(identity.Reader)},
			func(context.Context, *nothing) (*nothing, error) { return nil, nil })
	}
	if peer == "" {
		routes(api)
	} else if err := Forward(mux, "peer", peer, http.DefaultTransport.(*http.Transport), propagation.TraceContext{}, routes); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler(mux, Config{Credentials: Credentials{Provider: roles{}}, Audit: l, AuditShare: 1}))
	t.Cleanup(server.Close)
	return server
}

// roles knows tokens that are roles.
type roles struct{}

func (roles) Caller(_ context.Context, token string) (identity.Caller, error) {
	if !slices.Contains(identity.Roles(), identity.Role(token)) {
		return identity.Caller{}, identity.ErrInvalid
	}
	return identity.Caller{Tenant: "acme", Subject: "somebody", Role: identity.Role(token)}, nil
}

// asking returns the status and the body of an answer, and how that ended.
func asking(t *testing.T, server *httptest.Server, token, method string) (int, string, error) {
	t.Helper()
	r := check.Value(http.NewRequestWithContext(t.Context(), method, server.URL+"/v1/things", nil))(t)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := server.Client().Do(r)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(body), err
}

func TestRequestsAreRecordedByTheirOperations(t *testing.T) {
	l, changed := &auditLog{writes: -1}, 0
	server := changing(t, l, &changed, "")
	for _, step := range []struct{ token, method, said string }{
		{"writer", http.MethodPost, "write change, write change"}, // a record for each part of the answer
		{"reader", http.MethodGet, "sample read"},
		{"reader", http.MethodPost, "write change"},
		{"nobody", http.MethodPost, "refuse POST /v1/things"},
		{"writer", http.MethodDelete, ""}, // there is no such operation
	} {
		l.events, l.said = nil, nil
		_, _, _ = asking(t, server, step.token, step.method)
		if got := strings.Join(l.said, ", "); got != step.said {
			t.Errorf("%s %s: %q, want %q", step.token, step.method, got, step.said)
		}
		for _, e := range l.events {
			denied := e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
			if denied != (e.Decision == audit.Denied) || denied != (e.Reason != "") || (e.Caller.Subject == "") != (e.Address != "") {
				t.Errorf("%s %s: %+v", step.token, step.method, e)
			}
		}
	}
}

// What is not recorded is not answered: a change is refused while nothing can be written, is
// answered 503 where that shows too late, and breaks off where part of the answer is sent.
func TestAChangeIsNotAnsweredWithoutItsRecord(t *testing.T) {
	for name, tc := range map[string]struct {
		writes, status, changed int
		away                    error
		body                    string
		cut                     bool
	}{
		"all is well":      {-1, 200, 2, nil, "ab", false},
		"it is known":      {-1, 503, 0, errors.New("away"), notRecorded, false},
		"it shows":         {0, 503, 1, nil, lostRecord, false},
		"it shows between": {1, 200, 2, nil, "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			l, changed := &auditLog{writes: tc.writes, away: tc.away}, 0
			server := changing(t, l, &changed, "")
			status, body, err := asking(t, server, "writer", http.MethodPost)
			if status != tc.status || !strings.Contains(body, tc.body) || (err != nil) != tc.cut || changed != tc.changed {
				t.Errorf("%d %q, %v, after %d changes", status, body, err, changed)
			}
			if status, _, err := asking(t, server, "reader", http.MethodGet); err != nil || status != http.StatusNoContent {
				t.Errorf("a read: %d, %v", status, err)
			}
		})
	}
}

// A process that passes requests on leaves the record to the one that answers them.
func TestAForwardedRequestIsRecordedOnce(t *testing.T) {
	back, front, changed := &auditLog{writes: -1}, &auditLog{writes: -1}, 0
	server := changing(t, front, &changed, changing(t, back, &changed, "").URL)
	if _, body, err := asking(t, server, "writer", http.MethodPost); err != nil || body != "ab" {
		t.Errorf("%q, %v", body, err)
	}
	_, _, _ = asking(t, server, "reader", http.MethodPost)
	_, _, _ = asking(t, server, "nobody", http.MethodPost)
	if got := strings.Join(back.said, ", "); got != "write change, write change, write change" {
		t.Errorf("the peer has %q", got)
	}
	if got := strings.Join(front.said, ", "); got != "refuse POST /v1/things" {
		t.Errorf("the front has %q", got)
	}
}

// A caller does not learn by the time of an answer, or by an audit log that is away, whether
// what it named is hidden or not there: both are recorded in one way.
func TestAHiddenThingIsRecordedLikeAMissingThing(t *testing.T) {
	api, mux := NewAPI("")
	type named struct {
		What string `path:"what"`
	}
	answer := func(status int) func(context.Context, *named) (*nothing, error) {
		return func(ctx context.Context, in *named) (*nothing, error) {
			if in.What == "hidden" {
				audit.Annotate(ctx, audit.Details{Decision: audit.Denied, Reason: "no grant allows it"})
			}
			if status != http.StatusOK {
				return nil, huma.NewError(status, "there is none")
			}
			return nil, nil
		}
	}
	for path, status := range map[string]int{"missing": http.StatusNotFound, "found": http.StatusOK} {
		for method, more := range map[string]map[string]any{http.MethodGet: nil, http.MethodPut: nil, http.MethodPost: audit.Sampled()} {
			huma.Register(api, huma.Operation{
				OperationID: method + path, Method: method, Path: "/v1/" + path + "/{what}", Security: identity.Needs(identity.Reader), Metadata: more,
			}, answer(status))
		}
	}
	l := &auditLog{writes: -1}
	h := handler(mux, Config{Credentials: Credentials{Provider: roles{}}, Audit: l, AuditShare: 1})
	for _, route := range []string{"GET /v1/missing/", "POST /v1/missing/", "PUT /v1/missing/", "GET /v1/found/", "POST /v1/found/"} {
		var said []string
		for _, what := range []string{"hidden", "unknown"} {
			l.said, l.events = nil, nil
			method, path, _ := strings.Cut(route, " ")
			served(h, bearing("reader", method, path+what))
			for i, e := range l.events {
				said = append(said, l.said[i])
				if how, _, _ := strings.Cut(l.said[i], " "); how == "write" && !e.ReadOnly || (e.Decision == audit.Denied) != (what == "hidden") {
					t.Errorf("%s%s: %s %+v", route, what, how, e)
				}
			}
		}
		if len(said) != 2 || said[0] != said[1] {
			t.Errorf("%s: %q", route, said)
		}
	}
}
