package httpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestAnUnknownRouteAnswersAProblemDocument(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /here", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	for _, tc := range []struct {
		method, path string
		status       int
		allow        string
		slash        bool
	}{
		{"GET", "/here", 204, "", false}, {"GET", "/there", 404, "", false}, {"POST", "/here", 405, "GET, HEAD", false},
		{"POST", "/v1/tools/shop/sell:call", 404, "", true}, {"POST", "/v1/tools/shop%2Fsell:cal", 404, "", false},
	} {
		w := served(describeNotFound(mux), httptest.NewRequest(tc.method, tc.path, nil))
		if w.Code != tc.status || w.Header().Get("Allow") != tc.allow {
			t.Errorf("%s %s: status %d, allowed %q", tc.method, tc.path, w.Code, w.Header().Get("Allow"))
		}
		if tc.status < 400 {
			continue
		}
		var p struct {
			Status int
			Detail string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Status != tc.status || p.Detail == "" || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %v %s", tc.method, tc.path, err, w.Body)
		}
		if strings.Contains(p.Detail, "a slash in an id is sent as %2F") != tc.slash {
			t.Errorf("%s %s: %s", tc.method, tc.path, p.Detail)
		}
	}
}

// A client that sends all of a body before it looks at the answer, which refused the
// request early, gets that answer and may send the next request over the connection.
func TestARefusedBodyIsReadToItsEnd(t *testing.T) {
	server := httptest.NewServer(limitBody(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})))
	defer server.Close()
	conn := check.Value(net.Dial("tcp", server.Listener.Addr().String()))(t)
	defer conn.Close()
	answers := bufio.NewReader(conn)
	body := strings.Repeat("x", 16<<20) // more than the server reads by itself, and than the connection holds
	for _, tc := range []struct {
		request string
		status  int
	}{
		{"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body, 413},
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200},
	} {
		check.Value(io.WriteString(conn, tc.request))(t)
		answer, err := http.ReadResponse(answers, nil)
		if err != nil || answer.StatusCode != tc.status {
			t.Fatalf("want %d: %v, %v", tc.status, answer, err)
		}
		answer.Body.Close()
	}
}

func TestTheAPIReadsWhatCurlSendsAndRefusesUnknownParameters(t *testing.T) {
	api, mux := NewAPI("test")
	type input struct {
		Provider string `query:"provider"`
		Body     struct {
			Query string `json:"query"`
		}
	}
	type output struct{ Body struct{ Got string } }
	for _, id := range []string{"search", "receive-events"} {
		huma.Register(api, huma.Operation{OperationID: id, Security: identity.ProvenOtherwise(), Method: "POST", Path: "/" + id}, func(_ context.Context, in *input) (*output, error) {
			out := &output{}
			out.Body.Got = in.Body.Query
			return out, nil
		})
	}
	for _, tc := range []struct {
		path, accept string
		status       int
		says         string
	}{
		{"/search", "*/*", 200, "rain"}, {"/search?provider=a", "", 200, "rain"}, {"/search?agnet=a", "", 422, "agnet"},
		{"/receive-events?code=1", "", 200, "rain"},
	} {
		r := httptest.NewRequest("POST", tc.path, strings.NewReader(`{"query":"rain"}`))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded") // what curl -d says
		r.Header.Set("Accept", tc.accept)
		w := served(mux, r)
		media := w.Header().Get("Content-Type")
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) || !strings.HasSuffix(media, "json") {
			t.Errorf("%s: %d %s %s, want %d and %q", tc.path, w.Code, media, w.Body, tc.status, tc.says)
		}
	}
}

func TestWritesFromOtherOriginsAreRefused(t *testing.T) {
	h := refuseCrossOrigin(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	tests := []struct {
		method, header, value string
		status                int
	}{
		{http.MethodPost, "", "", 200},
		{http.MethodPost, "Origin", "https://elsewhere.example", 403},
		{http.MethodPost, "Sec-Fetch-Site", "cross-site", 403},
		{http.MethodPost, "Sec-Fetch-Site", "same-origin", 200},
		{http.MethodPost, "Origin", "http://example.com", 200}, // the host of the request itself
		{http.MethodGet, "Sec-Fetch-Site", "cross-site", 403},
		{http.MethodOptions, "Origin", "https://elsewhere.example", 200},
	}
	for _, test := range tests {
		r := httptest.NewRequest(test.method, "http://example.com/v1/search", nil)
		if test.header != "" {
			r.Header.Set(test.header, test.value)
		}
		w := served(h, r)
		if w.Code != test.status {
			t.Errorf("%s with %s %q: %d, want %d", test.method, test.header, test.value, w.Code, test.status)
		}
	}
}

// A name that resolves to this machine by the will of who owns it is refused.
func TestForeignHostNamesAreRefusedOnLoopback(t *testing.T) {
	h := refuseForeignHosts(true, "Tools.Example.com, other.example", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for host, status := range map[string]int{
		"evil.example":           421,
		"evil.example:8665":      421,
		"127.0.0.1.evil.example": 421,
		"localhost.evil.example": 421,
		"evil.example.":          421,
		"notlocal.xlocal.com":    421,
		"":                       200,
		"localhost:8665":         200,
		"LOCALHOST":              200,
		"127.0.0.1:8665":         200,
		"[::1]:8665":             200,
		"[::1]":                  200,
		"10.0.0.7":               200,
		"laptop:8665":            200,
		"laptop.local":           200,
		"host.docker.internal:1": 200,
		"x.localhost.":           200,
		"tools.example.com:443":  200,
		"OTHER.example":          200,
	} {
		r := httptest.NewRequest(http.MethodGet, "/v1/tools", nil)
		r.Host = host
		w := served(h, r)
		if w.Code != status || status == 421 && !strings.Contains(w.Body.String(), "auth.hosts") {
			t.Errorf("%q: %d %s, want %d", host, w.Code, w.Body, status)
		}
	}
}

func TestErrorsNameThePlaceAndQuoteLittle(t *testing.T) {
	api, mux := NewAPI("test")
	type input struct {
		Body struct {
			Query string `json:"query" maxLength:"10"`
			K     int    `json:"k,omitempty"`
		}
	}
	huma.Register(api, huma.Operation{OperationID: "search", Security: identity.ProvenOtherwise(), Method: "POST", Path: "/search", MaxBodyBytes: 8 << 20},
		func(context.Context, *input) (*struct{}, error) { return nil, nil })
	for _, tc := range []struct{ name, body, says string }{
		{"invalid UTF-8", "{\"query\":\"a\xff\"}", "invalid UTF-8 at byte 11 (/query)"},
		{"a repeated key", `{"query":"a","query":"b"}`, "duplicate key at byte 20 (/query)"},
		{"a long text", `{"query":"` + strings.Repeat("long ", 1<<18) + `"}`, "/body/query"},
		{"a large object", `{"query":"a","k":{"a":"` + strings.Repeat("long ", 1<<18) + `"}}`, "/body/k"},
		{"many unknown members", manyMembers(50_000, "m"), "(49980 more errors)"},
		{"members named like paths", manyMembers(50_000, "m.[."), "(49980 more errors)"},
		{"too many values", "[" + strings.Repeat("1,", 4_000_000) + "1]", "too many nodes"},
	} {
		r := httptest.NewRequest("POST", "/search", strings.NewReader(tc.body))
		r.Header.Set("Content-Type", "application/json")
		w := served(mux, r)
		if answer := w.Body.String(); w.Code/100 != 4 || !strings.Contains(answer, tc.says) || len(answer) > 4000 {
			t.Errorf("%s: status %d, %d bytes: %.4000s", tc.name, w.Code, len(answer), answer)
		}
	}
}

// manyMembers is an object of which each member is an error.
func manyMembers(n int, name string) string {
	var b strings.Builder
	b.WriteString(`{"query":"a"`)
	for i := range n {
		fmt.Fprintf(&b, `,"%s%d":1`, name, i)
	}
	return b.String() + "}"
}
