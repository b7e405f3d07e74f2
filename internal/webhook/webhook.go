// Package webhook verifies who sent an event to an address that anybody can reach.
package webhook

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strings"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// The ways in which senders prove that they know a secret.
const (
	Standard   = "standard"    // Standard Webhooks: headers webhook-id, -timestamp and -signature, HMAC-SHA256, 5 minutes of tolerance
	HMACSHA256 = "hmac-sha256" // HMAC of the body in a header, in hexadecimal digits, also after a name such as sha256=
	HMACSHA1   = "hmac-sha1"   // the same with SHA-1, which Kong signs with
	Key        = "key"         // the secret itself in a header
)

// Proof is how the sender of an event proves itself.
type Proof struct {
	Scheme string
	Header string // of every scheme but Standard, which has its own
	Secret string // of Standard in base64, also after whsec_
}

// Validate says what is wrong with a scheme and its header.
func (p Proof) Validate() error {
	all := []string{Standard, HMACSHA256, HMACSHA1, Key}
	switch {
	case !slices.Contains(all, p.Scheme):
		return fmt.Errorf("scheme is %q; it is one of %s", p.Scheme, strings.Join(all, ", "))
	case (p.Scheme == Standard) != (p.Header == ""):
		return errors.New("header is needed by every scheme but standard, which has its own")
	}
	return nil
}

// ErrProof is the error of a sender that does not know the secret. It does not say what is
// wrong: whoever guesses would learn from it.
var ErrProof = errors.New("the event is not signed as the source's hook says")

// Verify returns ErrProof unless the sender of a body, as it was received, knows the
// secret. Other errors are of the secret.
func (p Proof) Verify(header http.Header, body []byte) error {
	switch p.Scheme {
	case Standard:
		hook, err := standard.NewWebhook(p.Secret)
		if err != nil {
			return err
		}
		if hook.Verify(body, header) != nil {
			return ErrProof
		}
		return nil
	case HMACSHA256:
		return p.signed(sha256.New, header, body)
	case HMACSHA1:
		return p.signed(sha1.New, header, body)
	}
	given, want := sha256.Sum256([]byte(header.Get(p.Header))), sha256.Sum256([]byte(p.Secret)) // of one length
	if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		return ErrProof
	}
	return nil
}

// signed checks the HMAC of a body.
func (p Proof) signed(of func() hash.Hash, header http.Header, body []byte) error {
	text := header.Get(p.Header)
	given, err := hex.DecodeString(text[strings.IndexByte(text, '=')+1:])
	if err != nil {
		return ErrProof
	}
	mac := hmac.New(of, []byte(p.Secret))
	mac.Write(body)
	if !hmac.Equal(given, mac.Sum(nil)) {
		return ErrProof
	}
	return nil
}
