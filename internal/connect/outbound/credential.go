package outbound

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssign "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/toolstream/toolstream/internal/webhook"
)

// The kinds of credentials.
const (
	Bearer = "bearer" // a token in the header Authorization
	Header = "header" // a value in another header
	OAuth  = "oauth"  // a client's id and secret, for which a token is fetched
	AWS    = "aws"    // the secret of an access key, with which requests are signed (Signature Version 4)

	Exchange = "exchange" // a client's id and secret, for which the token of a caller is exchanged (RFC 8693)

	Variable = "variable" // an environment variable of a command
	Hook     = "hook"     // what senders of events prove themselves with: it is sent to nobody
)

var kinds = []string{Bearer, Header, OAuth, AWS, Exchange, Variable, Hook}

// Credential is a secret that sources may be asked with, or that their events are signed
// with: an operator's, of which tenants know the name alone.
type Credential struct {
	Kind     string   `json:"kind"`
	Hosts    []string `json:"hosts,omitempty"`     // host or host:port: the only ones that it is sent to
	Tenants  []string `json:"tenants,omitempty"`   // that may use it; the operator's alone where there are none; "*" is any
	Header   string   `json:"header,omitempty"`    // of kind header, and of kind hook but for the scheme standard
	Scheme   string   `json:"scheme,omitempty"`    // of kind hook, as package webhook names it
	ClientID string   `json:"client_id,omitempty"` // of kinds oauth and exchange, and the access key's id of kind aws
	TokenURL string   `json:"token_url,omitempty"` // where tokens are: of kind exchange, and of kind oauth unless the MCP server says it
	Scope    string   `json:"scope,omitempty"`     // with token_url
	Audience string   `json:"audience,omitempty"`  // of kind exchange: whom tokens are for
	Variable string   `json:"variable,omitempty"`  // of kind variable: its name
	Commands []string `json:"commands,omitempty"`  // of kind variable: with all arguments, the only ones that get it
	Env      string   `json:"env,omitempty"`       // environment variable that holds the secret
	File     string   `json:"file,omitempty"`      // file that holds it, read at every connection
}

// Validate says what is wrong with a credential as it is set.
func (c Credential) Validate() error {
	switch {
	case !slices.Contains(kinds, c.Kind):
		return fmt.Errorf("kind is %q; it is one of %s", c.Kind, strings.Join(kinds, ", "))
	case (c.Env == "") == (c.File == ""):
		return fmt.Errorf("set either env or file to where the secret is")
	case c.Kind == Hook:
		if len(c.Hosts) > 0 || c.ClientID != "" {
			return fmt.Errorf("hosts and client_id are not for kind hook, which is sent to nobody")
		}
		return webhook.Proof{Scheme: c.Scheme, Header: c.Header}.Validate()
	case c.Kind == Variable:
		return c.validVariable()
	case c.Variable != "" || len(c.Commands) > 0:
		return fmt.Errorf("variable and commands are for kind variable")
	case c.Scheme != "":
		return fmt.Errorf("scheme is for kind hook")
	case len(c.Hosts) == 0:
		return fmt.Errorf("hosts is empty: name the hosts that it may be sent to")
	case (c.Kind == Header) != (c.Header != ""):
		return fmt.Errorf("header is for kind header, which needs it")
	case (c.Kind == OAuth || c.Kind == AWS || c.Kind == Exchange) != (c.ClientID != ""):
		return fmt.Errorf("client_id is for kinds oauth, exchange and aws, which need it")
	case c.TokenURL != "" && c.Kind != OAuth && c.Kind != Exchange, c.Scope != "" && c.TokenURL == "":
		return fmt.Errorf("token_url is for kinds oauth and exchange, and scope for those with token_url")
	case c.Kind == Exchange && c.TokenURL == "", c.Audience != "" && c.Kind != Exchange:
		return fmt.Errorf("kind exchange needs token_url, and audience is for it alone")
	}
	return nil
}

// variableForm is that of the name of an environment variable.
var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (c Credential) validVariable() error {
	switch {
	case !variableForm.MatchString(c.Variable):
		return fmt.Errorf("variable is %q; it is the name of an environment variable", c.Variable)
	case len(c.Commands) == 0:
		return fmt.Errorf("commands is empty: name the commands, with all arguments, that get the variable")
	case len(c.Hosts) > 0 || c.Header != "" || c.Scheme != "" || c.ClientID != "" || c.TokenURL != "":
		return fmt.Errorf("kind variable has no hosts, header, scheme, client_id and token_url")
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

// Secret returns how the credential is sent. For kind oauth it is only where the credential
// says where tokens are, which client fetches; one of kind exchange is then a token of the
// client itself. Plain says that it may be sent over a connection that is not encrypted.
func (c Credential) Secret(plain bool, client *http.Client) (Secret, error) {
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
	case AWS:
		s.Header, s.Sign = "Authorization", signAWS(c.ClientID, value)
	case OAuth, Exchange:
		if c.TokenURL != "" {
			s.Header, s.Sign = "Authorization", c.fetchToken(value, client, nil)
		}
	}
	return s, nil
}

// Exchanged returns how a token is sent for which client exchanges that of a caller, who is
// then known as such where it is sent to. The caller's own is sent to the token_url alone.
func (c Credential) Exchanged(plain bool, client *http.Client, token string) (Secret, error) {
	value, err := c.Value()
	if err != nil {
		return Secret{}, err
	}
	more := url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"subject_token":        {token},
		"subject_token_type":   {"urn:ietf:params:oauth:token-type:access_token"},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
	}
	return Secret{Hosts: c.Hosts, Plain: plain, Header: "Authorization", Sign: c.fetchToken(value, client, more)}, nil
}

// tokenTimeout bounds how long a token is waited for.
const tokenTimeout = 30 * time.Second

// ErrToken is wrapped by the error of a request for which no token is to be had.
var ErrToken = errors.New("no token")

// fetchToken returns what sets a token that is fetched with client credentials (RFC 6749,
// section 4.4) or with more, and again shortly before it expires.
func (c Credential) fetchToken(secret string, client *http.Client, more url.Values) func(*http.Request) error {
	bounded := *client
	bounded.Timeout = tokenTimeout
	conf := clientcredentials.Config{ClientID: c.ClientID, ClientSecret: secret, TokenURL: c.TokenURL, Scopes: strings.Fields(c.Scope), EndpointParams: url.Values{}}
	maps.Copy(conf.EndpointParams, more)
	if c.Audience != "" {
		conf.EndpointParams.Set("audience", c.Audience)
	}
	tokens := conf.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, &bounded))
	return func(req *http.Request) error {
		token, err := tokens.Token()
		if err != nil {
			return fmt.Errorf("%w from %s: %w", ErrToken, c.TokenURL, err)
		}
		token.SetAuthHeader(req)
		return nil
	}
}

// awsHost is that of a service of a region. The name of a service in it is also that in
// signatures.
var awsHost = regexp.MustCompile(`^([a-z0-9-]+)\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$`)

// signAWS returns what signs requests.
func signAWS(key, secret string) func(*http.Request) error {
	signer := awssign.NewSigner()
	return func(req *http.Request) error {
		var body []byte
		if req.GetBody != nil {
			r, err := req.GetBody()
			if err != nil {
				return err
			}
			if body, err = io.ReadAll(r); err != nil {
				return err
			}
		}
		service, region := "apigateway", "us-east-1" // of what stands in for AWS
		if m := awsHost.FindStringSubmatch(req.URL.Hostname()); m != nil {
			service, region = m[1], m[2]
		}
		return signer.SignHTTP(req.Context(), aws.Credentials{AccessKeyID: key, SecretAccessKey: secret}, req, fmt.Sprintf("%x", sha256.Sum256(body)), service, region, time.Now())
	}
}

// Proof returns how the senders of events prove themselves, of kind hook.
func (c Credential) Proof() (webhook.Proof, error) {
	value, err := c.Value()
	return webhook.Proof{Scheme: c.Scheme, Header: c.Header, Secret: value}, err
}
