// Package tokenfile keeps the static tokens of callers in a file. A line of it is
//
//	TENANT[/NAME] ROLE HASH EXPIRES
//
// where HASH is the SHA-256 of the token in hex, and EXPIRES a time (RFC 3339) or "never".
// Blank lines and lines that begin with # are skipped.
package tokenfile

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Token is an entry of the file: the caller of a token, and the token's hash.
type Token struct {
	Caller  identity.Caller
	Hash    [sha256.Size]byte
	Expires time.Time // zero: never
}

// secretBytes is the entropy of a token. 256 random bits cannot be guessed, so a slow or salted
// hash, as for passwords, would only slow down requests.
const secretBytes = 32

// Create makes a token and returns its secret for the owner. The secret is stored nowhere.
func Create(c identity.Caller, expires time.Time) (t Token, secret string, err error) {
	if err := check(c); err != nil {
		return Token{}, "", err
	}
	random := make([]byte, secretBytes)
	_, _ = rand.Read(random) // never fails
	secret = "ts_" + base64.RawURLEncoding.EncodeToString(random)
	return Token{c, sha256.Sum256([]byte(secret)), expires.UTC().Truncate(time.Second)}, secret, nil
}

// check refuses a caller that cannot have a token.
func check(c identity.Caller) error {
	if err := schema.ValidateTenant(c.Tenant); err != nil {
		return err
	}
	if err := schema.ValidateTenant(c.Subject); c.Subject != "" && err != nil { // of the same form
		return fmt.Errorf("the name of the token %w", err)
	}
	if !slices.Contains(identity.Roles(), c.Role) {
		return fmt.Errorf("%s is no role: want one of %v", schema.Quote(string(c.Role)), identity.Roles())
	}
	return nil
}

// ID is the name of the token for its managers: the beginning of its hash.
func (t Token) ID() string { return hex.EncodeToString(t.Hash[:6]) }

// Expired reports whether the token has expired.
func (t Token) Expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

const never = "never"

// String returns the token's line.
func (t Token) String() string {
	expires := never
	if !t.Expires.IsZero() {
		expires = t.Expires.Format(time.RFC3339)
	}
	return fmt.Sprintf("%s %s %x %s", t.Caller, t.Caller.Role, t.Hash, expires)
}

var errLine = errors.New("want TENANT[/NAME] ROLE HASH EXPIRES: make such a line with `toolstream token create`")

// parse reads one line.
func parse(line string) (t Token, err error) {
	parts := strings.Fields(line)
	if len(parts) != 4 {
		return Token{}, errLine
	}
	tenant, name, named := strings.Cut(parts[0], "/")
	t.Caller = identity.Caller{Tenant: tenant, Subject: name, Role: identity.Role(parts[1])}
	if err := check(t.Caller); err != nil {
		return Token{}, err
	}
	if hash, err := hex.DecodeString(parts[2]); err != nil || copy(t.Hash[:], hash) != len(t.Hash) || len(hash) != len(t.Hash) || named && name == "" {
		return Token{}, errLine
	}
	if parts[3] != never {
		if t.Expires, err = time.Parse(time.RFC3339, parts[3]); err != nil {
			return Token{}, errLine
		}
	}
	return t, nil
}

// Read returns the tokens of a file, in its order. It refuses a file that others may read
// or write, or that the group may write.
func Read(path string) ([]Token, error) {
	tokens, _, err := read(path)
	return tokens, err
}

// read also returns the lines of the tokens.
func read(path string) (tokens []Token, lines []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if mode := info.Mode().Perm(); mode&0o027 != 0 && runtime.GOOS != "windows" {
		return nil, nil, fmt.Errorf("%s has the mode %04o: others may use it; take that away with chmod 600", path, mode)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	owner := map[[sha256.Size]byte]bool{}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.TrimRight(line, "\r\n"))
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		t, err := parse(line)
		if err == nil && owner[t.Hash] {
			err = errors.New("another line has the same token: give each its own")
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", path, len(lines), err)
		}
		owner[t.Hash] = true
		tokens = append(tokens, t)
	}
	return tokens, lines, nil
}

// Add adds a token to a file, and creates a missing file.
func Add(path string, t Token) error {
	return edit(path, func() error {
		_, lines, err := read(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return write(path, append(lines, t.String()))
	})
}

// ErrUnknown is wrapped by the error for an id that no token of a file has.
var ErrUnknown = errors.New("there is no token")

// Remove takes the token with that id out of a file.
func Remove(path, id string) error {
	return edit(path, func() error {
		_, lines, err := read(path)
		if err != nil {
			return err
		}
		kept := slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
			t, err := parse(strings.TrimSpace(line))
			return err == nil && t.ID() == id
		})
		if len(kept) == len(lines) {
			return fmt.Errorf("%w %s in %s", ErrUnknown, schema.Quote(id), path)
		}
		return write(path, kept)
	})
}

// edit reads the file and writes it back, one process at a time.
func edit(path string, change func() error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	release, err := files.LockFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(change(), release())
}

// write replaces the file. It keeps the group's permissions.
func write(path string, lines []string) error {
	mode := os.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	text := ""
	for _, line := range lines {
		text += line + "\n"
	}
	return files.Write(path, []byte(text), mode)
}
