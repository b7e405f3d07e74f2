package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/wholefile"
)

// ErrFile is the reason why grants in a file are not changed by a call.
var ErrFile = errors.New("the grants are those of auth.policy_file: change the file")

// file knows the grants of all tenants by a file, as it is now.
type file struct {
	log *slog.Logger

	mu       sync.Mutex
	watched  wholefile.Watched
	unread   bool               // the file could not be opened
	policies map[string]*Policy // by tenant; nil: the file cannot be read
}

// OpenFile returns a store of the grants in a YAML file: a list for each tenant, by its
// name. The file is looked at whenever somebody asks, so that a change of it is in force at
// once. While it cannot be read, nothing is known.
func OpenFile(path string, log *slog.Logger) (*Store, error) {
	f := &file{log: log, watched: wholefile.Watched{Path: path}}
	return &Store{file: f, log: log}, f.look()
}

// of returns the policy of a tenant.
func (f *file) of(tenant string) (*Policy, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.unread
	if err := f.look(); err != nil && !was {
		f.log.Error("auth.policy_file cannot be read: nothing is shown until it can be", "error", err)
	}
	switch p := f.policies[tenant]; {
	case f.policies == nil:
		return nil, ErrUnknown
	case p == nil:
		return &Policy{Version: noGrants}, nil
	default:
		return p, nil
	}
}

// look reads the file if it has changed. Its error is that of reading it now.
func (f *file) look() error {
	if changed := f.watched.Changed(); !changed && !f.unread {
		return nil
	}
	f.policies = nil
	content, err := os.ReadFile(f.watched.Path)
	f.unread = err != nil // which may end without a change of the file
	if err != nil {
		return err
	}
	f.policies, err = parse(content)
	if err != nil {
		return fmt.Errorf("%s: %w", f.watched.Path, err)
	}
	return nil
}

// parse reads the grants of tenants.
func parse(content []byte) (map[string]*Policy, error) {
	var tenants map[string][]Grant
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	switch err := d.Decode(&tenants); {
	case errors.Is(err, io.EOF): // as one that is about to be written: without grants all tools are shown
		return nil, errors.New("it is empty: write {} where no tenant has grants")
	case err != nil:
		return nil, err
	case !errors.Is(d.Decode(new(any)), io.EOF):
		return nil, errors.New("it holds more than one document")
	}
	sum := sha256.Sum256(content)
	out := make(map[string]*Policy, len(tenants))
	for tenant, grants := range tenants {
		p, err := New(hex.EncodeToString(sum[:6]), grants)
		if err != nil {
			return nil, fmt.Errorf("tenant %s: %w", tenant, err)
		}
		out[tenant] = p
	}
	return out, nil
}
