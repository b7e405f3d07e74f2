package sources

import (
	"encoding/base64"
	"net/url"
	"strings"

	"github.com/toolstream/toolstream/internal/redact"
	"github.com/toolstream/toolstream/internal/source"
)

// hidden is an error whose text holds no secret.
type hidden struct {
	says  string
	cause error
}

func (h hidden) Error() string { return h.says }

func (h hidden) Unwrap() error { return h.cause }

// hide returns the error of a look at a source without the secrets of its addresses and its
// credential: servers repeat in their errors what they were sent.
func (s *Service) hide(spec source.Spec, err error) error {
	if err == nil {
		return nil
	}
	var secrets []string
	for _, value := range append(redact.Secrets(spec.URL), redact.Secrets(spec.Proxy)...) {
		secrets = append(secrets, value, "redacted")
	}
	if spec.Auth != nil {
		c := s.cfg.Permit.Credentials[spec.Auth.Credential]
		if value, unread := c.Value(); unread == nil {
			encoded := url.QueryEscape(value)
			basic := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(c.ClientID) + ":" + encoded))
			secrets = append(secrets, value, hiddenCredential, encoded, hiddenCredential, basic, hiddenCredential)
		}
	}
	return hidden{redact.Text(strings.NewReplacer(secrets...).Replace(err.Error())), err}
}

// hiddenCredential stands for the secret of a credential.
const hiddenCredential = "(credential)"

// public returns a source without the secrets of its addresses.
func public(s Source) Source {
	s.URL, s.Proxy = redact.Text(s.URL), redact.Text(s.Proxy)
	return s
}

// unhide returns a declaration with the addresses of the one before where it holds them as
// they are shown: who changes something else has not seen them.
func unhide(spec, before source.Spec) source.Spec {
	if spec.URL == redact.Text(before.URL) {
		spec.URL = before.URL
	}
	if spec.Proxy == redact.Text(before.Proxy) {
		spec.Proxy = before.Proxy
	}
	return spec
}
