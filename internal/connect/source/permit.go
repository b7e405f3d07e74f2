package source

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/connect/outbound"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Permit defines which resources of the operator sources may use, for the service that reads
// sources and for the service that calls their tools.
type Permit struct {
	Credentials map[string]outbound.Credential
	Commands    []string // with their arguments, separated by spaces
	Folders     []string // absolute paths
	Private     bool     // some private addresses may be reached

	// Namespaces of the cluster by tenant that may read them: "*" is any.
	Namespaces map[string][]string

	// Trusted means that only the operator can add sources: then every command, folder, namespace
	// and private address is allowed.
	Trusted bool
}

// Places finds where sources are.
type Places struct {
	Permit
	Transports *outbound.Transports
	Limits     Limits
	Logger     *slog.Logger
}

// refuse returns the error of a source that the settings do not allow.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// Locate returns how to reach a source. Its error wraps source.ErrRefused if the settings do not
// permit the source. A source that another source has found reaches only addresses that its user
// asked for: the operator's own machine, too, only with allow_private. The token of a caller is
// exchanged if the source's credential is of that kind; it may be empty.
func (p *Places) Locate(owner string, spec Spec, found bool, token string) (Place, error) {
	at := Place{URL: spec.URL, Command: spec.Command, Document: spec.Document, Proxy: spec.Proxy, Mapping: spec.Mapping, Limits: p.Limits}
	switch {
	case len(spec.Command) > 0:
		if spec.Auth != nil {
			c, err := p.variable(owner, spec)
			if err != nil {
				return at, err
			}
			value, err := c.Value()
			if err != nil {
				return at, p.unreadable(spec.Auth.Credential, err)
			}
			at.Env = []string{c.Variable + "=" + value}
		}
		return at, p.command(spec)
	case spec.Kind == Kubernetes:
		var err error
		at.Selector = spec.Selector
		at.Namespaces, err = p.namespaces(owner, spec)
		return at, err
	case spec.Kind == Folder:
		var err error
		at.URL, err = p.folder(spec.URL)
		return at, err
	}
	if err := p.private(spec); err != nil {
		return at, err
	}
	options := outbound.Options{Private: spec.AllowPrivate, Strict: found, Limit: p.Limits.Bytes}
	if spec.Auth != nil {
		if err := p.authorize(&at, &options, owner, spec, token); err != nil {
			return at, err
		}
	}
	at.Client = p.Transports.Client(options)
	return at, nil
}

// authorize adds the credential of a source to its options.
func (p *Places) authorize(at *Place, options *outbound.Options, owner string, spec Spec, token string) error {
	c, err := p.sendable(owner, spec)
	if err != nil {
		return err
	}
	plain := strings.HasPrefix(spec.URL, "http:")
	hosts := p.Transports.Client(outbound.Options{
		Private: options.Private, Strict: options.Strict, Limit: options.Limit, Only: true, Secret: outbound.Secret{Hosts: c.Hosts},
	})
	if token != "" && c.Kind == outbound.Exchange {
		options.Secret, err = c.Exchanged(plain, hosts, token)
	} else {
		options.Secret, err = c.Secret(plain, hosts)
	}
	if err == nil && c.Kind == outbound.OAuth && c.TokenURL == "" {
		at.OAuth = &OAuth{ClientID: c.ClientID, Client: hosts}
		at.OAuth.Secret, err = c.Value()
	}
	if err != nil {
		return p.unreadable(spec.Auth.Credential, err)
	}
	return nil
}

// Exchanges reports whether a source is called with a token for each caller.
func (p *Places) Exchanges(spec Spec) bool {
	return spec.Auth != nil && p.Credentials[spec.Auth.Credential].Kind == outbound.Exchange
}

// Permits returns why the settings do not allow a source that is reached over the network or by
// a command, or nil. It reads nothing.
func (p *Places) Permits(owner string, spec Spec) error {
	if len(spec.Command) > 0 {
		if spec.Auth != nil {
			if _, err := p.variable(owner, spec); err != nil {
				return err
			}
		}
		return p.command(spec)
	}
	if err := p.private(spec); err != nil || spec.Auth == nil {
		return err
	}
	_, err := p.sendable(owner, spec)
	return err
}

// Hook returns the credential that signs the events of a source, if it can be read.
func (p *Places) Hook(owner string, spec Spec) (outbound.Credential, error) {
	name := spec.Hook.Credential
	c, ok := p.Credentials[name]
	if !ok || !c.For(owner, identity.DefaultTenant) || c.Kind != outbound.Hook {
		return c, refuse("there is no credential %q of kind hook for this tenant among crawl.credentials", name)
	}
	if _, err := c.Value(); err != nil {
		return c, p.unreadable(name, err)
	}
	return c, nil
}

// unreadable logs why a credential cannot be used, and returns an error without the details,
// which are the operator's.
func (p *Places) unreadable(name string, err error) error {
	p.Logger.Warn("sources: a credential cannot be read", "credential", name, "error", err)
	return errors.New("the credential cannot be read: the server's log says why")
}

// variable returns the credential that the command of a source gets.
func (p Permit) variable(owner string, spec Spec) (outbound.Credential, error) {
	name := spec.Auth.Credential
	c, ok := p.Credentials[name]
	switch {
	case !ok || !c.For(owner, identity.DefaultTenant) || c.Kind != outbound.Variable:
		return c, refuse("there is no credential %q of kind variable for this tenant among crawl.credentials", name)
	case !listed(c.Commands, spec.Command):
		return c, refuse("the credential %q is not for this command", name)
	}
	return c, nil
}

func (p Permit) command(spec Spec) error {
	if p.Trusted || listed(p.Commands, spec.Command) {
		return nil
	}
	return refuse("the command is not among crawl.commands")
}

// listed reports whether a command is in a list, with all its arguments.
func listed(commands, command []string) bool {
	return slices.ContainsFunc(commands, func(one string) bool { return slices.Equal(strings.Fields(one), command) })
}

// namespaces returns the namespaces that a source may read, nil for all.
func (p Permit) namespaces(owner string, spec Spec) ([]string, error) {
	allowed := p.Namespaces[owner]
	switch {
	case p.Trusted, slices.Contains(allowed, "*"):
		return spec.Namespaces, nil
	case len(allowed) == 0:
		return nil, refuse("this tenant is not among crawl.kubernetes.namespaces")
	case len(spec.Namespaces) == 0:
		return allowed, nil
	}
	for _, n := range spec.Namespaces {
		if !slices.Contains(allowed, n) {
			return nil, refuse("the namespace %s is not among those of this tenant in crawl.kubernetes.namespaces", n)
		}
	}
	return spec.Namespaces, nil
}

// folder returns the real path of a folder.
func (p Permit) folder(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if p.Trusted {
		return real, err
	}
	for _, allowed := range p.Folders {
		root, rootErr := filepath.EvalSymlinks(allowed)
		if below, relErr := filepath.Rel(root, real); err == nil && rootErr == nil && relErr == nil && filepath.IsLocal(below) {
			return real, nil
		}
	}
	return "", refuse("the folder is not among crawl.folders") // a tenant does not learn whether it exists
}

func (p Permit) private(spec Spec) error {
	if spec.AllowPrivate && !p.Private && !p.Trusted {
		return refuse("allow_private is not allowed: crawl.private names no addresses")
	}
	return nil
}

// sendable returns the credential of a source, with its hosts as seen from the source's address, if
// it may be sent there.
func (p Permit) sendable(owner string, spec Spec) (outbound.Credential, error) {
	name := spec.Auth.Credential
	c, ok := p.Credentials[name]
	u, err := url.Parse(spec.URL)
	switch {
	case !ok, !c.For(owner, identity.DefaultTenant), c.Kind == outbound.Hook, c.Kind == outbound.Variable:
		return c, refuse("there is no credential %q to send for this tenant among crawl.credentials", name)
	case err != nil:
		return c, err
	}
	if c.Hosts = outbound.BoundFrom(u, c.Hosts); !outbound.Bound(c.Hosts, u) {
		return c, refuse("the credential %q may not be sent to the source's host", name) // without its hosts, which callers of the tools are not to learn
	}
	return c, nil
}
