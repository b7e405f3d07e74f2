// Package tenant carries the caller's tenant from the credential, where it is
// learned, to the services. It is never taken from a body.
package tenant

import "context"

// Default is the tenant of every caller where authentication is off.
const Default = "default"

type key struct{}

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

// Operates reports whether the caller is the operator, who sees and changes what all
// tenants share: the tenant default.
func Operates(ctx context.Context) bool { return From(ctx) == Default }
