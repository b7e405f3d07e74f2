package outbound

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

// The schemes of credentials of kind hook: how the sender of an event proves that it knows the
// secret.
const (
	HookStandard   = "standard"    // Standard Webhooks: headers webhook-id, -timestamp and -signature, HMAC-SHA256, 5 minutes of tolerance
	HookHMACSHA256 = "hmac-sha256" // HMAC of the body in a header, in hexadecimal digits, also after a name such as sha256=
	HookHMACSHA1   = "hmac-sha1"   // the same with SHA-1, which Kong signs with
	HookKey        = "key"         // the secret itself in a header
)

// validHook returns the mistake in the settings of a credential of kind hook, if any.
func (c Credential) validHook() error {
	schemes := []string{HookStandard, HookHMACSHA256, HookHMACSHA1, HookKey}
	switch {
	case len(c.Hosts) > 0 || c.ClientID != "":
		return errors.New("hosts and client_id are not for kind hook, which is sent to nobody")
	case !slices.Contains(schemes, c.Scheme):
		return fmt.Errorf("scheme is %q; it is one of %s", c.Scheme, strings.Join(schemes, ", "))
	case (c.Scheme == HookStandard) != (c.Header == ""):
		return errors.New("header is needed by every scheme but standard, which has its own")
	}
	return nil
}

// ErrProof is the error of a sender that does not know the secret. It gives no details, which
// would help to guess.
var ErrProof = errors.New("the event is not signed as the source's hook says")

// Verify returns ErrProof unless the sender of a body, as it was received, knows the secret of
// the credential, which is of kind hook. Other errors concern the secret.
func (c Credential) Verify(header http.Header, body []byte) error {
	secret, err := c.Value()
	if err != nil {
		return err
	}
	var newHash func() hash.Hash
	switch c.Scheme {
	case HookStandard:
		hook, err := standard.NewWebhook(secret)
		if err == nil && hook.Verify(body, header) != nil {
			return ErrProof
		}
		return err
	case HookHMACSHA256:
		newHash = sha256.New
	case HookHMACSHA1:
		newHash = sha1.New
	default:
		given, want := sha256.Sum256([]byte(header.Get(c.Header))), sha256.Sum256([]byte(secret)) // of one length
		if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
			return ErrProof
		}
		return nil
	}
	signature := header.Get(c.Header)
	given, err := hex.DecodeString(signature[strings.IndexByte(signature, '=')+1:])
	mac := hmac.New(newHash, []byte(secret))
	mac.Write(body)
	if err != nil || !hmac.Equal(given, mac.Sum(nil)) {
		return ErrProof
	}
	return nil
}
