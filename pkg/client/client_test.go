package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
)

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &Client{Server: s.URL + "/", Token: "secret", HTTP: s.Client()}
}

func TestPostSendsJSONAndTheToken(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/search" || r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got %s with %v", r.URL, r.Header)
		}
		w.Write([]byte(`{"k": 3}`))
	})
	var out struct{ K int }
	if err := c.Post(t.Context(), "/v1/search", map[string]int{"k": 3}, &out); err != nil || out.K != 3 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestProblemsAreReported(t *testing.T) {
	tests := []struct {
		status int
		body   string
		want   string
	}{
		{422, `{"title":"Unprocessable","status":422,"detail":"bad k","errors":[{"message":"must be at least 1","location":"/body/k"}]}`, "bad k; /body/k: must be at least 1 (HTTP 422)"},
		{422, `{"title":"Unprocessable","status":422,"detail":"/k: must be 1 to 9, have 0","errors":[{"message":"must be 1 to 9","location":"/body/k"}]}`, "/k: must be 1 to 9, have 0 (HTTP 422)"},
		{401, `{"title":"Unauthorized","detail":"a token is required"}`, "a token is required (HTTP 401)"},
		{503, `{"title":"Unavailable"}`, "Unavailable (HTTP 503)"},
		{502, `<html>gateway</html>`, "<html>gateway</html> (HTTP 502)"},
		{500, ``, "Internal Server Error (HTTP 500)"},
	}
	for _, test := range tests {
		c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.status)
			w.Write([]byte(test.body))
		})
		err := c.Get(t.Context(), "/v1/tools", nil, nil)
		var p *Problem
		if !errors.As(err, &p) || p.Status != test.status || err.Error() != test.want {
			t.Errorf("%d: got %v, want %q", test.status, err, test.want)
		}
		if NotFound(err) {
			t.Errorf("%d counts as not found", test.status)
		}
	}
}

func TestAServerMayLackItsScheme(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{}`)) })
	c.Server = strings.TrimPrefix(c.Server, "http://")
	check.OK(t, c.Get(t.Context(), "/v1/tools", nil, nil))
}

func TestAMissingServerIsReported(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	c := &Client{Server: s.URL}
	err := c.Get(t.Context(), "/v1/tools", nil, nil)
	if !errors.Is(err, ErrNoServer) || !errors.Is(err, syscall.ECONNREFUSED) || strings.Count(err.Error(), "http://") != 1 {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Get(ctx, "/v1/tools", nil, nil); errors.Is(err, ErrNoServer) || !errors.Is(err, context.Canceled) {
		t.Errorf("of a request that was given up: %v", err)
	}
}

func TestACallThatIsNotAnsweredSaysWhy(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnprocessableEntity)
		w.Write([]byte(`{"detail":"the arguments do not fit the tool","outcome":"invalid_arguments","errors":[{"message":"is missing","location":"/body/arguments/city"}]}`))
	})
	_, err := c.Call(t.Context(), "weather/now", schema.CallRequest{})
	var p *Problem
	if !errors.As(err, &p) || p.Outcome != schema.CallInvalidArguments || len(p.Errors) != 1 || p.Errors[0] != (Mistake{"is missing", "/body/arguments/city"}) {
		t.Errorf("got %+v, %v", p, err)
	}
}

// What only the server says of an event is not sent: it would be refused.
func TestFeedbackSaysWhatACallerKnows(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if want := `{"search_id":"s","tool_id":"t","event":"called"}`; err != nil || string(body) != want {
			t.Errorf("got %s, %v", body, err)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	f := schema.Feedback{Tenant: "a", SearchID: "s", ToolID: "t", Event: schema.Called, Time: time.Now(), Credential: "c"}
	check.OK(t, c.ReportFeedback(t.Context(), f))
}

func TestToolsComeInTheirForm(t *testing.T) {
	for form, test := range map[schema.Form]struct {
		tools string
		want  []string
	}{
		schema.FormOpenAI:           {`[{"type":"function","name":"a"},{"type":"function","name":"b"}]`, []string{`{"type":"function","name":"a"}`, `{"type":"function","name":"b"}`}},
		schema.FormToolSearchOutput: {`{"type":"tool_search_output"}`, []string{`{"type":"tool_search_output"}`}},
		schema.FormMCP:              {`[]`, nil},
	} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) {
			var request schema.SearchRequest
			if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.As != form || request.Query != "rain" {
				t.Errorf("got %+v, %v", request, err)
			}
			w.Write([]byte(`{"search_id":"s","tools":` + test.tools + `}`))
		})
		tools, err := c.ToolsFor(t.Context(), "rain", form)
		var have []string
		for _, tool := range tools {
			have = append(have, string(tool))
		}
		if err != nil || !slices.Equal(have, test.want) {
			t.Errorf("%s: got %q, %v", form, have, err)
		}
	}
}

func TestPathTakesAnyID(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.EscapedPath(); got != "/v1/tools/a%2Fb%20%3F%E6%97%85" {
			t.Errorf("got %q", got)
		}
		w.WriteHeader(http.StatusNotFound)
	})
	if err := c.Get(t.Context(), Path("/v1/tools", "a/b ?旅"), nil, nil); !NotFound(err) {
		t.Errorf("got %v", err)
	}
}
