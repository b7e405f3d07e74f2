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
)

// The kinds of credentials.
const (
	Bearer = "bearer" // a token in the header Authorization
	Header = "header" // a value in another header
	OAuth  = "oauth"  // a client's id and secret, which fetch a token
	AWS    = "aws"    // the secret of an access key, which signs requests (Signature Version 4)

	Exchange = "exchange" // a client's id and secret, which exchange the token of a caller (RFC 8693)

	Variable = "variable" // an environment variable of a command
	Hook     = "hook"     // signs incoming events, and is never sent
)

var kinds = []string{Bearer, Header, OAuth, AWS, Exchange, Variable, Hook}

// Credential is a secret of the operator for requests to sources, or for the signatures of
// their events. Tenants know only its name.
type Credential struct {
	Kind     string   `json:"kind"`
	Hosts    []string `json:"hosts,omitempty"`     // host or host:port: it is sent to no other host and port
	Tenants  []string `json:"tenants,omitempty"`   // that may use it; empty: only the operator; "*" is any
	Header   string   `json:"header,omitempty"`    // of kind header, and of kind hook except with the scheme standard
	Scheme   string   `json:"scheme,omitempty"`    // of kind hook, such as HookStandard
	ClientID string   `json:"client_id,omitempty"` // of kinds oauth and exchange, and the access key's id of kind aws
	TokenURL string   `json:"token_url,omitempty"` // address of tokens: for kind exchange, and for kind oauth unless the MCP server declares it
	Scope    string   `json:"scope,omitempty"`     // with token_url
	Audience string   `json:"audience,omitempty"`  // of kind exchange: whom tokens are for
	Variable string   `json:"variable,omitempty"`  // of kind variable: its name
	Commands []string `json:"commands,omitempty"`  // of kind variable: the only commands that get it, with all arguments
	Env      string   `json:"env,omitempty"`       // environment variable that holds the secret
	File     string   `json:"file,omitempty"`      // file that holds it, read at every connection
}

// Validate returns the mistake in the settings of a credential, if any.
func (c Credential) Validate() error {
	switch {
	case !slices.Contains(kinds, c.Kind):
		return fmt.Errorf("kind is %q; it is one of %s", c.Kind, strings.Join(kinds, ", "))
	case (c.Env == "") == (c.File == ""):
		return fmt.Errorf("set either env or file to where the secret is")
	case c.Kind == Hook:
		return c.validHook()
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

// variableForm matches the name of an environment variable.
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

// For reports whether a tenant may use the credential: operator, if the settings name no tenants.
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
		return "", fmt.Errorf("%s%s holds no secret", c.Env, c.File)
	case strings.ContainsAny(value, "\r\n"):
		return "", fmt.Errorf("the secret in %s%s is not one line", c.Env, c.File)
	}
	return value, nil
}

// Secret returns the secret to send for the credential, with its header and hosts. A credential
// of kind oauth is sent only if it has a token_url, from which client fetches tokens. For kind
// exchange it sends the client's own tokens, not a caller's. Plain allows connections that are
// not encrypted.
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

// Exchanged returns how the exchanged token of a caller is sent, which identifies the caller to
// the source. The caller's own token is sent only to the token_url.
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

// ErrToken is wrapped by the error of a request that gets no token.
var ErrToken = errors.New("no token")

// fetchToken returns a function that sets a token on a request. It fetches the token with client
// credentials (RFC 6749, section 4.4) or with more, and again shortly before it expires.
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

// awsHost matches the host of a service in a region. Signatures contain the name of the service.
var awsHost = regexp.MustCompile(`^([a-z0-9-]+)\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws)$`)

// signAWS returns a function that signs requests.
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
		service, region := "apigateway", "us-east-1" // of an emulator of AWS
		if m := awsHost.FindStringSubmatch(req.URL.Hostname()); m != nil {
			service, region = m[1], m[2]
		}
		return signer.SignHTTP(req.Context(), aws.Credentials{AccessKeyID: key, SecretAccessKey: secret}, req, fmt.Sprintf("%x", sha256.Sum256(body)), service, region, time.Now())
	}
}
