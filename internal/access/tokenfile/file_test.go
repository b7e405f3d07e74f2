package tokenfile

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

var planner = identity.Caller{Tenant: "acme", Subject: "planner", Role: identity.Reader}

// created adds a token to a file.
func created(t *testing.T, path string, c identity.Caller, expires time.Time) (Token, string) {
	t.Helper()
	token, secret, err := Create(c, expires)
	if err == nil {
		err = Add(path, token)
	}
	if err != nil {
		t.Fatal(err)
	}
	return token, secret
}

func opened(t *testing.T, path string) (*File, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	f, err := Open(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return f, &log
}

// Tokens without a name are told apart by their ids.
func TestATokenWithoutANameHasACredential(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	first, secret := created(t, path, identity.Caller{Tenant: "acme", Role: identity.Reader}, time.Time{})
	_, other := created(t, path, identity.Caller{Tenant: "acme", Role: identity.Reader}, time.Time{})
	f, _ := opened(t, path)
	one, err := f.Caller(secret)
	two, also := f.Caller(other)
	if err != nil || also != nil || one.Credential != first.ID() || two.Credential == "" || two.Credential == one.Credential {
		t.Errorf("%+v %v, %+v %v", one, err, two, also)
	}
}

func TestATokenIsFoundUntilItIsRevokedOrExpires(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "tokens")
	first, secret := created(t, path, planner, time.Time{})
	f, _ := opened(t, path)
	_, rotated := created(t, path, planner, time.Now().Add(time.Hour))
	_, late := created(t, path, planner, time.Now().Add(-time.Second))
	for what, tc := range map[string]struct {
		secret string
		err    error
	}{
		"the first": {secret, nil}, "one beside it": {rotated, nil}, "an expired one": {late, identity.ErrExpired},
		"another": {secret + "x", identity.ErrInvalid}, "none": {"", identity.ErrInvalid}, "the hash": {strings.Fields(first.String())[2], identity.ErrInvalid},
	} {
		if c, err := f.Caller(tc.secret); !errors.Is(err, tc.err) || err == nil && !reflect.DeepEqual(c, planner) {
			t.Errorf("%s: %v %v", what, c, err)
		}
	}
	if err := Remove(path, first.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Caller(secret); !errors.Is(err, identity.ErrInvalid) {
		t.Errorf("revoked: %v", err)
	}
	if _, err := f.Caller(rotated); err != nil {
		t.Errorf("what remains: %v", err)
	}
	if err := Remove(path, first.ID()); !errors.Is(err, ErrUnknown) {
		t.Errorf("revoked twice: %v", err)
	}
}

func TestTheFileHoldsNoTokenInPlain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	token, secret := created(t, path, planner, time.Time{})
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), secret) || string(text) != token.String()+"\n" {
		t.Errorf("%v: %s", err, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestAnEditKeepsTheRestOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("# who may call\n\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	token, _ := created(t, path, planner, time.Time{})
	if err := Remove(path, token.ID()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if info, _ := os.Stat(path); err != nil || string(text) != "# who may call\n\n" || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %s: %q", err, info.Mode(), text)
	}
}

// A slip in the file locks nobody out, and the log says it once.
func TestABrokenFileLeavesTheLastTokensInForce(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"broken": func(path string) error { return os.WriteFile(path, []byte("acme\n"), 0o600) },
		"open":   func(path string) error { return os.Chmod(path, 0o644) },
		"gone":   os.Remove,
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		_, secret := created(t, path, planner, time.Time{})
		f, log := opened(t, path)
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if c, err := f.Caller(secret); err != nil || !reflect.DeepEqual(c, planner) {
				t.Errorf("%s: %v %v", name, c, err)
			}
		}
		if n := strings.Count(log.String(), "cannot be read"); n != 1 {
			t.Errorf("%s: said %d times: %s", name, n, log)
		}
	}
}

func TestBadFilesAreNamed(t *testing.T) {
	hash := strings.Repeat("ab", 32)
	for text, want := range map[string]string{
		"acme\n":                                                  ":1: want TENANT[/NAME] ROLE HASH EXPIRES",
		"# x\nacme reader abcd never":                             ":2: want TENANT",
		"acme reader " + hash + "00 never":                        ":1: want TENANT",
		"acme reader " + hash + " tomorrow":                       ":1: want TENANT",
		"acme/ reader " + hash + " never":                         ":1: want TENANT",
		"acme root " + hash + " never":                            `:1: "root" is no role`,
		"Acme reader " + hash + " never":                          ":1: /tenant",
		"acme/A reader " + hash + " never":                        ":1: the name of the token",
		"acme/a/b reader " + hash + " never":                      ":1: the name of the token",
		"a reader " + hash + " never\nb admin " + hash + " never": ":2: another line has the same token",
	} {
		path := filepath.Join(t.TempDir(), "tokens")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestAFileThatOthersMayUseIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	created(t, path, planner, time.Time{})
	for mode, refused := range map[os.FileMode]bool{
		0o600: false, 0o400: false, 0o640: false, 0o440: false, 0o644: true, 0o604: true, 0o660: true, 0o602: true,
	} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); (err != nil) != refused {
			t.Errorf("%o: %v", mode, err)
		}
	}
}

func TestEditsAtTheSameTimeAreAllThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys", "tokens")
	const edits = 20
	var wg sync.WaitGroup
	for range edits {
		wg.Go(func() {
			token, _, err := Create(planner, time.Time{})
			if err == nil {
				err = Add(path, token)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if tokens, err := Read(path); err != nil || len(tokens) != edits {
		t.Errorf("%d tokens: %v", len(tokens), err)
	}
}
