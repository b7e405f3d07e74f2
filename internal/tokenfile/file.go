package tokenfile

import (
	"crypto/sha256"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/identity"
)

// File finds callers by the tokens of a file, as the file is now.
type File struct {
	path string
	log  *slog.Logger

	mu     sync.Mutex
	info   fs.FileInfo // of what was read; nil: the file was gone
	tokens map[[sha256.Size]byte]Token
}

// Open reads the file.
func Open(path string, log *slog.Logger) (*File, error) {
	f := &File{path: path, log: log}
	f.info, _ = os.Stat(path)
	return f, f.read()
}

func (f *File) read() error {
	tokens, err := Read(f.path)
	if err != nil {
		return err
	}
	f.tokens = make(map[[sha256.Size]byte]Token, len(tokens))
	for _, t := range tokens {
		f.tokens[t.Hash] = t
	}
	return nil
}

// Caller returns whose a token is, or identity.ErrInvalid or ErrExpired. It looks at the file first, so that a change of it is
// in force with the next request. The hash makes the lookup take the same time whatever a
// caller guesses.
func (f *File) Caller(secret string) (identity.Caller, error) {
	t, ok := f.current()[sha256.Sum256([]byte(secret))]
	switch {
	case !ok:
		return identity.Caller{}, identity.ErrInvalid
	case t.Expired(time.Now()):
		return identity.Caller{}, identity.ErrExpired
	}
	return t.Caller, nil
}

// current returns the tokens of the file. Where it cannot be read any more, the last ones
// that could be hold: who edits it must not lock everybody out by a slip.
func (f *File) current() map[[sha256.Size]byte]Token {
	info, err := os.Stat(f.path)
	f.mu.Lock()
	defer f.mu.Unlock()
	if same(info, f.info) {
		return f.tokens
	}
	f.info = info
	if err == nil {
		err = f.read()
	}
	if err != nil {
		f.log.Error("auth.tokens_file cannot be read: the tokens that were read last hold", "error", err)
	} else {
		f.log.Info("auth.tokens_file has changed and is in force", "tokens", len(f.tokens))
	}
	return f.tokens
}

// same reports whether nothing says that a file was changed or replaced.
func same(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}
