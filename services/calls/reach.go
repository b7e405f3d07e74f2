package calls

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"

	"golang.org/x/oauth2"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/kit/inflight"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/redact"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// open connects to a source.
func (s *Service) open(ctx context.Context, key connKey, spec source.Spec, token string) (connection, error) {
	at, err := s.deps.Places.Locate(key.tenant, spec, key.found, token)
	if err != nil || spec.Kind != source.MCP {
		return connection{place: at}, err
	}
	conn, err := s.deps.MCP.Open(ctx, at)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return connection{place: at, conn: conn}, err
}

// reach calls a tool on a connection. A call that did not reach the server, or that may be
// repeated without harm, is made once more on a new connection.
func (s *Service) reach(ctx context.Context, c *call) (schema.CallResult, error) {
	key := connKey{tenant: c.tool.Tenant, source: c.target.name, spec: fingerprint(c.target.spec), found: c.target.found}
	token := ""
	if s.deps.Places.Exchanges(c.target.spec) {
		if token = identity.Token(ctx); token == "" {
			return schema.CallResult{}, refused(http.StatusForbidden, "the tool is called with a token that the identity provider gives for the caller's: this caller has none of it")
		}
		sum := sha256.Sum256([]byte(token))
		key.token = hex.EncodeToString(sum[:])
	}
	for again := false; ; again = true {
		e, release, err := s.pool.acquire(ctx, key, c.target.spec, token)
		if err != nil {
			return schema.CallResult{}, openError(err)
		}
		var result schema.CallResult
		if e.to.conn == nil {
			result, err = s.overHTTP(ctx, c, e.to.place.Client)
		} else {
			result, err = s.overMCP(ctx, c, e.to.conn)
		}
		release()
		var failed *source.CallError
		if !errors.As(err, &failed) {
			return result, err
		}
		if e.to.lost() || errors.Is(err, source.ErrAuth) {
			s.pool.forget(key, e) // the credential may have changed
		}
		if why := prohibited(failed); why != nil {
			return schema.CallResult{}, why
		}
		repeatable := !failed.Refused && inflight.From(ctx).Refused() == nil && (failed.Unsent || c.hints.ReadOnly || c.hints.Idempotent)
		if again || !repeatable || ctx.Err() != nil || e.to.conn == nil {
			return schema.CallResult{}, err
		}
	}
}

// openError returns the error of a call whose source cannot be connected to.
func openError(err error) error {
	if why := prohibited(err); why != nil {
		return why
	}
	var e *Error
	if errors.As(err, &e) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &source.CallError{Unsent: true, Err: err}
}

// prohibited returns the error of a call that this server must not make, or nil.
func prohibited(err error) error {
	switch {
	case errors.Is(err, source.ErrRefused):
		return refused(http.StatusConflict, "%s", problem(err))
	case errors.Is(err, outbound.ErrAddress), errors.Is(err, outbound.ErrRedirect):
		return refused(http.StatusConflict, "the tool is at an address that must not be reached: %s", problem(err))
	}
	return nil
}

// overMCP calls a tool of an MCP server.
func (s *Service) overMCP(ctx context.Context, c *call, conn source.Conn) (schema.CallResult, error) {
	name := c.tool.Document.Name
	if own := jsondoc.Member(c.raw, "name"); own != nil {
		_ = json.Unmarshal(own, &name) // a name of another type does not count
	}
	answer, err := conn.Call(ctx, source.Call{Tool: name, Arguments: c.Arguments, InputResponses: c.InputResponses, RequestState: c.RequestState})
	if err != nil {
		return schema.CallResult{}, err
	}
	return resultOf(answer, s.cfg.MaxResult)
}

// maxProblem bounds the text of an error, in bytes.
const maxProblem = 2 << 10

// problem returns the text of an error without addresses and secrets: callers of a tool do not
// learn its address or its credential.
func problem(err error) string { return redact.Text(text.Truncate(cause(err), maxProblem)) }

func cause(err error) string {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var token *oauth2.RetrieveError
	var dial *net.OpError
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &token):
		return "the identity provider gives no token for the call: " + token.ErrorCode
	case errors.Is(err, outbound.ErrToken):
		return "the identity provider gives no token for the call"
	case errors.Is(err, outbound.ErrAddress):
		return outbound.ErrAddress.Error()
	case errors.Is(err, outbound.ErrRedirect):
		return outbound.ErrRedirect.Error()
	case errors.As(err, &lookup):
		return "the tool's server cannot be reached: its name is not known"
	case errors.As(err, &certificate):
		return "the tool's server cannot be reached: its certificate is not one for it"
	case errors.As(err, &dial):
		return "the tool's server cannot be reached: " + dial.Err.Error()
	case errors.Is(err, io.EOF):
		return "the tool's server ended the connection before it answered"
	}
	return err.Error()
}
