package sources

import (
	"encoding/base64"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/connect/source"
	"github.com/toolstream/toolstream/internal/kit/redact"
)

// hidden is an error whose text holds no secret.
type hidden struct {
	says  string
	cause error
}

func (h hidden) Error() string { return h.says }

func (h hidden) Unwrap() error { return h.cause }

// hiddenCredential replaces the secret of a credential.
const hiddenCredential = "(credential)"

// public returns a source without the secrets of its addresses.
func public(s Source) Source {
	s.URL, s.Proxy = redact.Text(s.URL), redact.Text(s.Proxy)
	return s
}

// unhide returns a declaration with the addresses of the present one if it holds them
// redacted: a user who changes something else has not seen them.
func unhide(spec, before source.Spec) source.Spec {
	if spec.URL == redact.Text(before.URL) {
		spec.URL = before.URL
	}
	if spec.Proxy == redact.Text(before.Proxy) {
		spec.Proxy = before.Proxy
	}
	return spec
}

// hide returns the error of a look at a source without the secrets of its addresses and its
// credential: servers repeat the request in their errors.
func (c *crawler) hide(spec source.Spec, err error) error {
	if err == nil {
		return nil
	}
	var secrets []string
	for _, value := range append(redact.Secrets(spec.URL), redact.Secrets(spec.Proxy)...) {
		secrets = append(secrets, value, "redacted")
	}
	if spec.Auth != nil {
		credential := c.cfg.Permit.Credentials[spec.Auth.Credential]
		if value, unread := credential.Value(); unread == nil {
			encoded := url.QueryEscape(value)
			basic := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(credential.ClientID) + ":" + encoded))
			secrets = append(secrets, value, hiddenCredential, encoded, hiddenCredential, basic, hiddenCredential)
		}
	}
	return hidden{redact.Text(strings.NewReplacer(secrets...).Replace(unplaced(err))), err}
}

// unplaced returns the text of an error without addresses of connections: of names inside the
// operator's network, of this machine, and of its name server.
func unplaced(err error) string {
	says := err.Error()
	var lookup *net.DNSError
	if errors.As(err, &lookup) && lookup.Server != "" {
		says = strings.ReplaceAll(says, " on "+lookup.Server, "")
	}
	var at *net.OpError
	switch refused := errors.Is(err, outbound.ErrAddress); {
	case errors.As(err, &at) && (at.Source != nil || at.Addr != nil):
		why := at.Err.Error()
		if refused {
			why = outbound.ErrAddress.Error()
		}
		says = strings.ReplaceAll(says, at.Error(), at.Op+": "+why)
	case refused:
		says = outbound.ErrAddress.Error()
	}
	return says
}
