package mcp

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// authorizer fetches tokens if a server asks for them. It is nil if o is.
func authorizer(o *source.OAuth, server string) (auth.OAuthHandler, error) {
	if o == nil {
		return nil, nil
	}
	client := *o.Client
	client.Transport = &audience{next: client.Transport, server: server}
	h, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{ClientID: o.ClientID, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: o.Secret}},
		HTTPClient:  &client,
	})
	if err != nil {
		return nil, err
	}
	return h, nil
}

// audience names the server that a token is for in the request of the token (RFC 8707,
// section 2), which the protocol demands and the SDK omits. The name comes from the metadata of
// the protected resource (RFC 9728), which are fetched first.
type audience struct {
	next http.RoundTripper

	mu     sync.Mutex // guards server
	server string
}

// bounds limit an answer: metadata, or a token.
var bounds = jsondoc.Limits{Bytes: 1 << 20, Nodes: 10_000}

// RoundTrip implements http.RoundTripper.
func (a *audience) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		return a.ask(req)
	}
	resp, err := a.counted(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	raw, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // everything was read
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(raw))
	var metadata struct {
		Resource string `json:"resource"`
	}
	if jsondoc.Unmarshal(raw, bounds, &metadata) == nil && metadata.Resource != "" {
		a.mu.Lock()
		a.server = metadata.Resource
		a.mu.Unlock()
	}
	return resp, nil
}

// ask asks for a token.
func (a *audience) ask(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	form.Set("resource", a.server)
	a.mu.Unlock()
	body := form.Encode()
	named := req.Clone(req.Context())
	named.Body, named.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	named.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
	return a.counted(named)
}

// counted sends a request, whose answer is counted before anything decodes it.
func (a *audience) counted(req *http.Request) (*http.Response, error) {
	resp, err := a.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = jsondoc.Counted(resp.Body, jsondoc.Whole, bounds, nil)
	return resp, nil
}
