package weaviate

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// What stands before Weaviate may repeat what it is sent.
func TestTheKeyIsInNoError(t *testing.T) {
	const key = "hush-1234"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "cannot take "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	defer server.Close()
	c, err := New(Config{URL: server.URL, GRPC: "127.0.0.1:1", APIKey: key})
	check.OK(t, err)
	defer c.Close()
	if err := c.Ready(t.Context()); err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "cannot take Bearer (key)") {
		t.Errorf("over REST: %v", err)
	}
	repeats := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error {
		return status.Error(codes.Unauthenticated, "cannot take Bearer "+key)
	}
	err = keyless{key: key}.invoke(t.Context(), "", nil, nil, nil, repeats)
	if status.Code(err) != codes.Unauthenticated || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "cannot take Bearer (key)") {
		t.Errorf("over gRPC: %v", err)
	}
}
