package outbound

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/webhook"
)

// The kinds of credentials.
const (
	Bearer = "bearer" // a token in the header Authorization
	Header = "header" // a value in another header
	OAuth  = "oauth"  // a client's id and secret, for which a token is fetched
	Hook   = "hook"   // what senders of events prove themselves with: it is sent to nobody
)

// Credential is a secret that sources may be asked with, or that their events are signed
// with: an operator's, of which tenants know the name alone.
type Credential struct {
	Kind     string   `json:"kind"`
	Hosts    []string `json:"hosts,omitempty"`     // host or host:port: the only ones that it is sent to
	Tenants  []string `json:"tenants,omitempty"`   // that may use it; the operator's alone where there are none; "*" is any
	Header   string   `json:"header,omitempty"`    // of kind header, and of kind hook but for the scheme standard
	Scheme   string   `json:"scheme,omitempty"`    // of kind hook, as package webhook names it
	ClientID string   `json:"client_id,omitempty"` // of kind oauth
	Env      string   `json:"env,omitempty"`       // environment variable that holds the secret
	File     string   `json:"file,omitempty"`      // file that holds it, read at every connection
}

// Validate says what is wrong with a credential as it is set.
func (c Credential) Validate() error {
	switch {
	case !slices.Contains([]string{Bearer, Header, OAuth, Hook}, c.Kind):
		return fmt.Errorf("kind is %q; it is one of %s, %s, %s, %s", c.Kind, Bearer, Header, OAuth, Hook)
	case (c.Env == "") == (c.File == ""):
		return fmt.Errorf("set either env or file to where the secret is")
	case c.Kind == Hook:
		if len(c.Hosts) > 0 || c.ClientID != "" {
			return fmt.Errorf("hosts and client_id are not for kind hook, which is sent to nobody")
		}
		return webhook.Proof{Scheme: c.Scheme, Header: c.Header}.Validate()
	case c.Scheme != "":
		return fmt.Errorf("scheme is for kind hook")
	case len(c.Hosts) == 0:
		return fmt.Errorf("hosts is empty: name the hosts that it may be sent to")
	case (c.Kind == Header) != (c.Header != ""):
		return fmt.Errorf("header is for kind header, which needs it")
	case (c.Kind == OAuth) != (c.ClientID != ""):
		return fmt.Errorf("client_id is for kind oauth, which needs it")
	}
	return nil
}

// For reports whether a tenant may use the credential. Operator is the tenant who does
// where the settings name none.
func (c Credential) For(tenant, operator string) bool {
	if len(c.Tenants) == 0 {
		return tenant == operator
	}
	return slices.Contains(c.Tenants, tenant) || slices.Contains(c.Tenants, "*")
}

// Value reads the secret.
func (c Credential) Value() (string, error) {
	value := os.Getenv(c.Env)
	if c.File != "" {
		raw, err := os.ReadFile(c.File)
		if err != nil {
			return "", err
		}
		value = string(raw)
	}
	value = strings.TrimSpace(value)
	switch {
	case value == "":
		return "", fmt.Errorf("there is no secret in %s%s", c.Env, c.File)
	case strings.ContainsAny(value, "\r\n"):
		return "", fmt.Errorf("the secret in %s%s is not one line", c.Env, c.File)
	}
	return value, nil
}

// Secret returns the header that the credential is sent in, none for kind oauth. Plain
// says that it may be sent over a connection that is not encrypted.
func (c Credential) Secret(plain bool) (Secret, error) {
	value, err := c.Value()
	if err != nil {
		return Secret{}, err
	}
	s := Secret{Hosts: c.Hosts, Plain: plain}
	switch c.Kind {
	case Bearer:
		s.Header, s.Value = "Authorization", "Bearer "+value
	case Header:
		s.Header, s.Value = c.Header, value
	}
	return s, nil
}

// Proof returns how the senders of events prove themselves, of kind hook.
func (c Credential) Proof() (webhook.Proof, error) {
	value, err := c.Value()
	return webhook.Proof{Scheme: c.Scheme, Header: c.Header, Secret: value}, err
}
