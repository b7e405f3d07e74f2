// Package tokentest makes tokens for tests.
package tokentest

import (
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/access/tokenfile"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Add adds a token of a caller to a file, creating the file if it is missing, and returns the
// secret that the caller presents. A token with a zero end never expires.
func Add(t testing.TB, file string, c identity.Caller, expires time.Time) (secret string) {
	t.Helper()
	token, secret, err := tokenfile.Create(c, expires)
	if err == nil {
		err = tokenfile.Add(file, token)
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}
