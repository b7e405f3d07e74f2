package tokenfile

import (
	"crypto/sha256"
	"log/slog"
	"time"

	"github.com/toolstream/toolstream/internal/kit/files"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// File finds callers by the tokens of a file, as the file is now.
type File struct {
	tokens *files.Cached[map[[sha256.Size]byte]Token]
}

// Open reads the file.
func Open(path string, log *slog.Logger) (*File, error) {
	read := func() (map[[sha256.Size]byte]Token, error) {
		tokens, err := Read(path)
		byHash := make(map[[sha256.Size]byte]Token, len(tokens))
		for _, t := range tokens {
			byHash[t.Hash] = t
		}
		return byHash, err
	}
	tokens, err := files.OpenCached("auth.tokens_file", files.KeepsLast, log, read, path)
	return &File{tokens}, err
}

// Caller returns whose a token is, or identity.ErrInvalid or ErrExpired. It looks at the file first, so that a change of it is
// in force with the next request. The hash makes the lookup take the same time whatever a
// caller guesses.
func (f *File) Caller(secret string) (identity.Caller, error) {
	t, ok := f.tokens.Current()[sha256.Sum256([]byte(secret))]
	switch {
	case !ok:
		return identity.Caller{}, identity.ErrInvalid
	case t.Expired(time.Now()):
		return identity.Caller{}, identity.ErrExpired
	}
	who := t.Caller
	if who.Subject == "" {
		who.Credential = t.ID()
	}
	return who, nil
}
