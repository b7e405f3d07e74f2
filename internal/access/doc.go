// Package access identifies callers and limits them to their grants.
//
// An HTTP request enters with a credential; a handler gets it with a caller and the scope of its
// grants. httpserver is the HTTP shell and the authentication; tokenfile, oidc and spiffe check
// its credentials, and oauth is the client's side. policy holds grants, and audit is the log of
// callers' actions.
//
// Open first: httpserver/auth.go, then policy/grant.go.
package access
