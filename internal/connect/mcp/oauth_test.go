package mcp

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/testing/check"
)

type tokenServer string

func (s tokenServer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s)))}, nil
}

// The SDK decodes metadata and tokens into values of any type.
func TestMetadataAndTokensAreCounted(t *testing.T) {
	large := tokenServer(`{"access_token":"a","x":[` + strings.Repeat("[],", bounds.Nodes) + `[]]}`)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		resp, err := (&audience{next: large}).RoundTrip(check.Value(http.NewRequestWithContext(t.Context(), method, "https://a.example", strings.NewReader("")))(t))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
		}
		var refused *jsondoc.Error
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", method, err)
		}
	}
}
