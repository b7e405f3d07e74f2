package tokenfile

import (
	"crypto/sha256"
	"log/slog"
	"sync"
	"time"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/wholefile"
)

// File finds callers by the tokens of a file, as the file is now.
type File struct {
	log *slog.Logger

	mu      sync.Mutex
	watched wholefile.Watched
	tokens  map[[sha256.Size]byte]Token
}

// Open reads the file.
func Open(path string, log *slog.Logger) (*File, error) {
	f := &File{log: log, watched: wholefile.Watched{Path: path}}
	f.watched.Changed()
	return f, f.read()
}

func (f *File) read() error {
	tokens, err := Read(f.watched.Path)
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
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.watched.Changed() {
		return f.tokens
	}
	err := f.read()
	if err != nil {
		f.log.Error("auth.tokens_file cannot be read: the tokens that were read last hold", "error", err)
	} else {
		f.log.Info("auth.tokens_file has changed and is in force", "tokens", len(f.tokens))
	}
	return f.tokens
}
