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

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/jsondoc"
	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/redact"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
)

// open connects to a source.
func (s *Service) open(ctx context.Context, key connKey, spec source.Spec, found bool, token string) (connection, error) {
	at, err := s.deps.Places.ForCaller(key.tenant, spec, found, token)
	if err != nil || spec.Kind != source.MCP {
		return connection{place: at}, err
	}
	conn, err := s.deps.MCP.Open(ctx, at)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return connection{place: at, conn: conn}, err
}

// reach calls the tool of a call where it is. A call that the server has not got, or that
// changes nothing when it is repeated, is made a second time on a new connection.
func (s *Service) reach(ctx context.Context, c *call) (schema.CallResult, error) {
	token, err := s.token(ctx, c)
	if err != nil {
		return schema.CallResult{}, err
	}
	key := connKey{tenant: c.tool.Tenant, source: c.to.name, spec: fingerprint(c.to.spec), found: c.to.found}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		key.token = hex.EncodeToString(sum[:])
	}
	for again := false; ; again = true {
		e, release, err := s.pool.take(ctx, key, c.to.spec, c.to.found, token)
		if err != nil {
			return schema.CallResult{}, openError(err)
		}
		result, err := s.callOn(ctx, c, &e.to)
		release()
		var failed *source.CallError
		if !errors.As(err, &failed) {
			return result, err
		}
		if lost := e.to.conn != nil && e.to.conn.Lost(); lost || errors.Is(err, source.ErrAuth) {
			s.pool.forget(key, e) // the credential may be another one by now
		}
		repeatable := !failed.Refused && (failed.Unsent || c.hints.ReadOnly || c.hints.Idempotent) && prohibited(failed) == nil
		if again || !repeatable || ctx.Err() != nil || e.to.conn == nil {
			if why := prohibited(failed); why != nil {
				return schema.CallResult{}, why
			}
			return schema.CallResult{}, err
		}
	}
}

// openError returns the error of a source that cannot be connected to.
func openError(err error) error {
	if why := prohibited(err); why != nil {
		return why
	}
	var known *Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &source.CallError{Unsent: true, Err: err}
}

// prohibited returns the error of a call that this server must not make, or nil.
func prohibited(err error) error {
	switch {
	case errors.Is(err, source.ErrRefused):
		return refused(http.StatusConflict, "%s", problem(err))
	case errors.Is(err, outbound.ErrAddress), errors.Is(err, errRedirect):
		return refused(http.StatusConflict, "the tool is at an address that must not be reached: %s", problem(err))
	}
	return nil
}

// token returns the token of the caller where it is to be exchanged, else "".
func (s *Service) token(ctx context.Context, c *call) (string, error) {
	if !s.deps.Places.Exchanges(c.to.spec) {
		return "", nil
	}
	token := identity.Token(ctx)
	if token == "" {
		return "", refused(http.StatusForbidden, "the tool is called with a token that the identity provider gives for the caller's: this caller has none of it")
	}
	return token, nil
}

// callOn calls a tool on a connection.
func (s *Service) callOn(ctx context.Context, c *call, to *connection) (schema.CallResult, error) {
	if to.conn == nil {
		return s.overHTTP(ctx, c, to.place.Client)
	}
	name := c.tool.Document.Name
	if said := jsondoc.Member(c.raw, "name"); said != nil {
		_ = json.Unmarshal(said, &name) // the document's own
	}
	answer, err := to.conn.Call(ctx, source.Call{Tool: name, Arguments: c.Arguments, InputResponses: c.InputResponses, RequestState: c.RequestState})
	if err != nil {
		return schema.CallResult{}, err
	}
	return resultOf(answer, s.cfg.MaxResult)
}

// problem returns the text of an error without addresses and secrets: who calls a tool is
// not to learn where it is, or what it is asked with.
func problem(err error) string { return redact.Text(text.Truncate(cause(err), maxProblem)) }

// maxProblem bounds what is told of an error, in bytes.
const maxProblem = 2 << 10

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
