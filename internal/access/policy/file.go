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

	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/kit/files"
)

// ErrFile is the reason why grants in a file are not changed by a call.
var ErrFile = errors.New("the grants are those of auth.policy_file: change the file")

// file knows the grants of all tenants by a file, as it is now.
type file struct {
	*files.Cached[map[string]*Policy]
} // by tenant

// OpenFile returns a store of the grants in a YAML file, which maps each tenant to a list. The
// store checks the file on every use, so that a change takes effect at once. While the file cannot
// be read, all grants are unknown.
func OpenFile(path string, log *slog.Logger) (*Store, error) {
	read := func() (map[string]*Policy, error) {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		policies, err := parse(content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return policies, nil
	}
	cached, err := files.OpenCached("auth.policy_file", "nothing is shown until it can be", log, read, path)
	return &Store{file: &file{cached}, log: log, scopes: newCache()}, err
}

// of returns the policy of a tenant.
func (f *file) of(tenant string) (*Policy, error) {
	policies, err := f.Read()
	if err != nil {
		return nil, ErrUnknown
	}
	if p := policies[tenant]; p != nil {
		return p, nil
	}
	return &Policy{Version: noGrants}, nil
}

// parse reads the grants of tenants.
func parse(content []byte) (map[string]*Policy, error) {
	var tenants map[string][]Grant
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	switch err := d.Decode(&tenants); {
	case errors.Is(err, io.EOF): // the file may be about to be written: an empty policy would show all tools
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
