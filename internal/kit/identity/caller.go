// Package identity describes callers: a caller is derived from the credential of a request,
// carried in the request's context, and never taken from a body.
package identity

import (
	"context"
	"errors"
	"slices"
)

// DefaultTenant is the tenant of every caller if authentication is off.
const DefaultTenant = "default"

// Caller is the sender of a request.
type Caller struct {
	Tenant  string
	Subject string   // name in the tenant; all callers of a tenant without one are one
	Groups  []string // that an identity provider names
	Role    Role

	// Credential tells callers without a subject apart who must not get each other's results: the
	// id of their token. It is empty for any other caller.
	Credential string
}

// Anybody is every caller if authentication is off.
var Anybody = Caller{Tenant: DefaultTenant, Role: Admin}

// String returns the tenant, followed by a slash and the subject if there is one.
func (c Caller) String() string {
	if c.Subject == "" {
		return c.Tenant
	}
	return c.Tenant + "/" + c.Subject
}

// Operates reports whether the caller may see and change state that all tenants share: as an
// operator of the tenant default.
func (c Caller) Operates() bool { return c.Tenant == DefaultTenant && c.Role.Includes(Operator) }

// The reasons why a caller is unknown.
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

// Token returns the token that an identity provider gave to the caller, "" if the caller has
// proved itself otherwise. It is sent only to the provider, for an exchange.
func Token(ctx context.Context) string {
	token, _ := ctx.Value(tokenKey{}).(string) // "" without a token
	return token
}

// From returns the context's caller. Without a caller in the context, it is a caller of the
// default tenant without a role.
func From(ctx context.Context) Caller {
	if c, ok := ctx.Value(key{}).(Caller); ok {
		return c
	}
	return Caller{Tenant: DefaultTenant}
}

// Role is a set of rights of a caller in its tenant. The empty role has no rights.
type Role string

// The roles. Each includes the ones before it.
const (
	Reader   Role = "reader"   // search and describe
	Calling  Role = "caller"   // call tools, and report the outcome
	Writer   Role = "writer"   // import documents and manage sources
	Operator Role = "operator" // dead letters, weights, quarantine and status
	Admin    Role = "admin"    // everything
)

// Roles returns all roles, in ascending order.
func Roles() []Role { return []Role{Reader, Calling, Writer, Operator, Admin} }

// Includes reports whether the role has all rights of the other one.
func (r Role) Includes(other Role) bool {
	least := slices.Index(Roles(), other)
	return least >= 0 && slices.Index(Roles(), r) >= least
}

// Scheme is the name of the security scheme in the OpenAPI document.
const Scheme = "bearer"

// Needs declares, in an operation's Security, the role that it needs.
func Needs(r Role) []map[string][]string { return []map[string][]string{{Scheme: {string(r)}}} }

// ProvenOtherwise declares, in an operation's Security, that the sender proves itself to the
// operation, and not by a credential of a caller.
func ProvenOtherwise() []map[string][]string { return []map[string][]string{} }

// Needed returns the role that an operation's Security declares, empty if it needs no role. An
// operation that declares nothing needs an admin.
func Needed(security []map[string][]string) Role {
	if security != nil && len(security) == 0 { // in OpenAPI, an empty list means no authentication
		return ""
	}
	for _, way := range security {
		if roles := way[Scheme]; len(roles) == 1 {
			return Role(roles[0])
		}
	}
	return Admin
}
