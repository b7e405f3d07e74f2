// Package tenant carries the caller's tenant, and the name of the credential, from the
// token, where they are learned, to the services. They are never taken from a body.
package tenant

import "context"

// Default is the tenant of every caller where authentication is off.
const Default = "default"

type (
	key           struct{}
	credentialKey struct{}
)

// With returns a context of the given tenant.
func With(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, key{}, name)
}

// From returns the context's tenant, Default where none was set.
func From(ctx context.Context) string {
	if name, ok := ctx.Value(key{}).(string); ok {
		return name
	}
	return Default
}

// WithCredential returns a context of a caller whose token has that name in its tenant.
func WithCredential(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, credentialKey{}, name)
}

// Credential returns the name of the caller's token, empty where it has none: all such
// callers of a tenant are one.
func Credential(ctx context.Context) string {
	name, _ := ctx.Value(credentialKey{}).(string)
	return name
}

// Operates reports whether the caller is the operator, who sees and changes what all
// tenants share: the tenant default.
func Operates(ctx context.Context) bool { return From(ctx) == Default }
