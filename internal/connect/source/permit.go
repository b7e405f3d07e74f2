// Package permit says what sources may take of what is the operator's, and where they are
// found within that: by those that look at sources, and by those that call their tools.
package permit

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/outbound"
	"github.com/toolstream/toolstream/internal/source"
	"github.com/toolstream/toolstream/internal/webhook"
)

// Permit says what sources may take of what is the operator's.
type Permit struct {
	Credentials map[string]outbound.Credential
	Commands    []string // with their arguments, separated by spaces
	Folders     []string // absolute paths
	Private     bool     // some private addresses may be reached

	// Namespaces are those of the cluster that tenants may look into, by tenant: "*" is any.
	Namespaces map[string][]string

	// Trusted says that whoever can add a source is the operator: then every command,
	// folder, namespace and private address is allowed.
	Trusted bool
}

// Places finds where sources are.
type Places struct {
	Permit
	Transports *outbound.Transports
	Limits     source.Limits
	Logger     *slog.Logger
}

// refuse returns an error of what the settings do not allow.
func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", source.ErrRefused, fmt.Sprintf(format, args...))
}

// Of returns where a source is, within what is permitted. The error of what is not
// wraps source.ErrRefused. One that another source has found reaches no address that its
// user has not asked for: also the operator's own machine only with allow_private.
func (p *Places) Of(owner string, spec source.Spec, found bool) (source.Place, error) {
	return p.ForCaller(owner, spec, found, "")
}

// Permits says what the settings do not allow of a source that is reached over the network or
// by a command, or nil. It reads nothing.
func (p *Places) Permits(owner string, spec source.Spec) error {
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

func (p Permit) private(spec source.Spec) error {
	if spec.AllowPrivate && !p.Private && !p.Trusted {
		return refuse("allow_private is not allowed: crawl.private names no addresses")
	}
	return nil
}

// Exchanges reports whether a source is called with a token for each caller.
func (p *Places) Exchanges(spec source.Spec) bool {
	return spec.Auth != nil && p.Credentials[spec.Auth.Credential].Kind == outbound.Exchange
}

// ForCaller is Of for a caller, whose token is exchanged if the source's credential is of that
// kind. An empty one is none.
func (p *Places) ForCaller(owner string, spec source.Spec, found bool, token string) (source.Place, error) {
	at := source.Place{URL: spec.URL, Command: spec.Command, Document: spec.Document, Proxy: spec.Proxy, Mapping: spec.Mapping, Limits: p.Limits}
	switch {
	case len(spec.Command) > 0:
		var err error
		if at.Env, err = p.environment(owner, spec); err == nil {
			err = p.command(spec)
		}
		return at, err
	case spec.Kind == source.Kubernetes:
		var err error
		at.Selector = spec.Selector
		at.Namespaces, err = p.namespaces(owner, spec)
		return at, err
	case spec.Kind == source.Folder:
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

// Proof returns how the senders of a source's events prove themselves.
func (p *Places) Proof(owner string, spec source.Spec) (webhook.Proof, error) {
	name := spec.Hook.Credential
	c, there := p.Credentials[name]
	if !there || !c.For(owner, identity.DefaultTenant) || c.Kind != outbound.Hook {
		return webhook.Proof{}, refuse("there is no credential %q of kind hook for this tenant among crawl.credentials", name)
	}
	proof, err := c.Proof()
	if err != nil {
		return proof, p.unreadable(name, err)
	}
	return proof, nil
}

// unreadable returns the error of a credential that cannot be read, without what only the
// operator may see.
func (p *Places) unreadable(name string, err error) error {
	p.Logger.Warn("sources: a credential cannot be read", "credential", name, "error", err)
	return errors.New("the credential cannot be read: the server's log says why")
}

func (p Permit) command(spec source.Spec) error {
	if p.Trusted || isOne(p.Commands, spec.Command) {
		return nil
	}
	return refuse("the command is not among crawl.commands")
}

// isOne reports whether a command is one of those, with all its arguments.
func isOne(of, command []string) bool {
	return slices.ContainsFunc(of, func(one string) bool { return slices.Equal(strings.Fields(one), command) })
}

// environment returns the variables that a command gets: the credential that the source
// names.
func (p *Places) environment(owner string, spec source.Spec) ([]string, error) {
	if spec.Auth == nil {
		return nil, nil
	}
	c, err := p.variable(owner, spec)
	if err != nil {
		return nil, err
	}
	value, err := c.Value()
	if err != nil {
		return nil, p.unreadable(spec.Auth.Credential, err)
	}
	return []string{c.Variable + "=" + value}, nil
}

// variable returns the credential of a source, which its command may get.
func (p *Places) variable(owner string, spec source.Spec) (outbound.Credential, error) {
	name := spec.Auth.Credential
	c, there := p.Credentials[name]
	switch {
	case !there || !c.For(owner, identity.DefaultTenant) || c.Kind != outbound.Variable:
		return c, refuse("there is no credential %q of kind variable for this tenant among crawl.credentials", name)
	case !isOne(c.Commands, spec.Command):
		return c, refuse("the credential %q is not for this command", name)
	}
	return c, nil
}

// folder returns the real path of a folder.
func (p Permit) folder(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil && p.Trusted {
		return "", err
	}
	for _, allowed := range p.Folders {
		root, rootErr := filepath.EvalSymlinks(allowed)
		if below, relErr := filepath.Rel(root, real); err == nil && rootErr == nil && relErr == nil && filepath.IsLocal(below) {
			return real, nil
		}
	}
	if p.Trusted {
		return real, nil
	}
	return "", refuse("the folder is not among crawl.folders") // whether it is there is not the tenant's to know
}

// namespaces returns where a source may look in the cluster, none for everywhere.
func (p Permit) namespaces(owner string, spec source.Spec) ([]string, error) {
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

// sendable returns the credential of a source, which may be sent to its address.
func (p *Places) sendable(owner string, spec source.Spec) (outbound.Credential, error) {
	name := spec.Auth.Credential
	c, there := p.Credentials[name]
	u, err := url.Parse(spec.URL)
	switch {
	case !there, !c.For(owner, identity.DefaultTenant), c.Kind == outbound.Hook, c.Kind == outbound.Variable:
		return c, refuse("there is no credential %q to send for this tenant among crawl.credentials", name)
	case err != nil:
		return c, err
	case !outbound.Bound(c.Hosts, u.Host):
		return c, refuse("the credential %q may not be sent to the source's host", name) // which is not for everybody who may call its tools
	}
	return c, nil
}

// authorize lets a source be asked with the credential that it names.
func (p *Places) authorize(at *source.Place, options *outbound.Options, owner string, spec source.Spec, token string) error {
	name := spec.Auth.Credential
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
		at.OAuth = &source.OAuth{ClientID: c.ClientID, Client: hosts}
		at.OAuth.Secret, err = c.Value()
	}
	if err != nil {
		return p.unreadable(name, err)
	}
	return nil
}
