// Package identity says who calls: it is learned from the credential of a request, carried
// in the request's context, and never taken from a body.
package identity

import (
	"context"
	"errors"
	"slices"
)

// DefaultTenant is the tenant of every caller where authentication is off.
const DefaultTenant = "default"

// Caller is who sends a request.
type Caller struct {
	Tenant  string
	Subject string   // name in the tenant; all callers of a tenant without one are one
	Groups  []string // that an identity provider names
	Role    Role
}

// Anybody is every caller where authentication is off.
var Anybody = Caller{Tenant: DefaultTenant, Role: Admin}

// String returns the tenant, and the subject behind a slash if there is one.
func (c Caller) String() string {
	if c.Subject == "" {
		return c.Tenant
	}
	return c.Tenant + "/" + c.Subject
}

// Operates reports whether the caller sees and changes what all tenants share: as an
// operator of the tenant default.
func (c Caller) Operates() bool { return c.Tenant == DefaultTenant && c.Role.Includes(Operator) }

// The reasons why it is not known who calls.
var (
	ErrInvalid     = errors.New("a valid bearer token is required")
	ErrExpired     = errors.New("the token has expired")
	ErrUnavailable = errors.New("the identity provider does not answer")
)

type key struct{}

// With returns a context of the given caller.
func With(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, key{}, c)
}

type tokenKey struct{}

// WithToken returns a context of a caller whom an identity provider knows by a token.
func WithToken(ctx context.Context, token string) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// Token returns the token that an identity provider gave to the caller, "" where the caller
// has proved itself otherwise. It is sent to nobody but the provider, to be exchanged.
func Token(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string) // "" where there is none
	return token
}

// From returns the context's caller. Where none was set, it is one of the default tenant
// that has no role.
func From(ctx context.Context) Caller {
	if c, ok := ctx.Value(key{}).(Caller); ok {
		return c
	}
	return Caller{Tenant: DefaultTenant}
}

// Role is what a caller may do in its tenant. The empty one may do nothing.
type Role string

// The roles. Each includes those before it.
const (
	Reader   Role = "reader"   // search and describe
	Calling  Role = "caller"   // call tools, and report what became of it
	Writer   Role = "writer"   // import documents and manage sources
	Operator Role = "operator" // dead letters, weights, quarantine and status
	Admin    Role = "admin"    // everything
)

// Roles returns all roles, each before those that include it.
func Roles() []Role { return []Role{Reader, Calling, Writer, Operator, Admin} }

// Includes reports whether who has the role may do what needs the other one.
func (r Role) Includes(other Role) bool {
	least := slices.Index(Roles(), other)
	return least >= 0 && slices.Index(Roles(), r) >= least
}

// Scheme names the way in which callers prove themselves in the OpenAPI document.
const Scheme = "bearer"

// Needs declares, in an operation's Security, the role that it needs.
func Needs(r Role) []map[string][]string { return []map[string][]string{{Scheme: {string(r)}}} }

// ProvenOtherwise declares, in an operation's Security, that the sender proves itself to the
// operation, and not by a credential of a caller.
func ProvenOtherwise() []map[string][]string { return []map[string][]string{} }

// Needed returns the role that an operation's Security declares, empty for one that needs
// none. An operation that declares nothing needs an admin.
func Needed(security []map[string][]string) Role {
	if security != nil && len(security) == 0 { // as OpenAPI has it: no way is needed
		return ""
	}
	for _, way := range security {
		if roles := way[Scheme]; len(roles) == 1 {
			return Role(roles[0])
		}
	}
	return Admin
}
