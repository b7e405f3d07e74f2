package httpserver

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Whoever tells of a change of a source proves itself to the call, by other means.
func TestEventsOfSourcesNeedNoToken(t *testing.T) {
	path, _ := tokensFor(t, identity.Caller{Tenant: "acme", Role: identity.Admin})
	tokens := opened(t, path)
	api, mux := NewAPI("test")
	answer := func(context.Context, *struct{}) (*struct{ Body string }, error) {
		return &struct{ Body string }{"heard"}, nil
	}
	for _, path := range []string{"POST /v1/sources/{name}:event", "OPTIONS /v1/sources/{name}:event", "POST /v1/sources/{name}:sync", "PUT /v1/sources/{name}", "POST /v1/tools:event"} {
		method, path, _ := strings.Cut(path, " ")
		huma.Register(api, huma.Operation{OperationID: method + path, Method: method, Path: path, Security: identity.ProvenOtherwise()}, answer)
	}
	for request, want := range map[string]int{
		"POST /v1/sources/a:event": 200, "OPTIONS /v1/sources/a:event": 200, "PUT /v1/sources/a:event": 401, "DELETE /v1/sources/a:event": 401,
		"POST /v1/sources/a:sync": 401, "POST /v1/tools:event": 401, "POST /v1/sources/a:event/b:sync": 401, "POST /v1/tools/a:event": 401,
	} {
		method, path, _ := strings.Cut(request, " ")
		w := served(authenticate(credentials{Credentials: Credentials{Tokens: tokens}, log: quiet}, mux), httptest.NewRequest(method, path, nil))
		if w.Code != want {
			t.Errorf("%s: %d, want %d", request, w.Code, want)
		}
	}
}
