package audit

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// KeyStore holds the key of each tenant under the tenant's name.
type KeyStore interface {
	stream.Watcher
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (uint64, error)
	Delete(ctx context.Context, key string) error
}

// keySize is the size of a key in bytes, of AES-256.
const keySize = 32

// Keys are the keys under which the private fields of records are sealed, one for each
// tenant. Its methods may be called concurrently.
type Keys struct {
	store KeyStore
	log   *slog.Logger

	mu    sync.Mutex
	known map[string]*key // keys that this process seals with, by tenant
}

type key struct {
	id   string
	aead cipher.AEAD
}

// NewKeys returns the keys of a store.
func NewKeys(store KeyStore, log *slog.Logger) *Keys {
	return &Keys{store: store, log: log, known: map[string]*key{}}
}

// Run forgets keys that are destroyed, until ctx ends.
func (k *Keys) Run(ctx context.Context) error {
	stream.WatchAgain(ctx, k.store, "", k.forgetDestroyed, func(err error) {
		if err != nil {
			k.log.Debug("audit: the store of keys is away, the known ones hold", "error", err)
		}
	})
	return nil
}

// forgetDestroyed forgets the key of a tenant if the store has no key or another key.
func (k *Keys) forgetDestroyed(e stream.Entry) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if known := k.known[e.Key]; known != nil && (len(e.Value) == 0 || known.id != keyID(e.Value)) {
		delete(k.known, e.Key)
	}
	return nil
}

// Destroy destroys the key of a tenant: the private fields of existing records become
// unreadable. Later records are sealed under another key.
func (k *Keys) Destroy(ctx context.Context, tenant string) error {
	if err := k.store.Delete(ctx, tenant); err != nil {
		return fmt.Errorf("audit: destroy the key of the tenant %s: %w", tenant, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, tenant)
	return nil
}

// forSealing returns the key of a tenant, and creates a missing one.
func (k *Keys) forSealing(ctx context.Context, tenant string) (*key, error) {
	k.mu.Lock()
	known := k.known[tenant]
	k.mu.Unlock()
	if known != nil {
		return known, nil
	}
	found, err := k.stored(ctx, tenant)
	if errors.Is(err, stream.ErrNotFound) {
		found, err = k.create(ctx, tenant)
	}
	if err != nil {
		return nil, fmt.Errorf("key of the tenant %s: %w", tenant, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[tenant] = found
	return found, nil
}

// stored returns the key of a tenant from the store.
func (k *Keys) stored(ctx context.Context, tenant string) (*key, error) {
	e, err := k.store.Get(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return newKey(e.Value)
}

func (k *Keys) create(ctx context.Context, tenant string) (*key, error) {
	secret := make([]byte, keySize)
	_, _ = rand.Read(secret) // never fails
	_, err := k.store.Create(ctx, tenant, secret)
	if errors.Is(err, stream.ErrConflict) { // another process was faster
		return k.stored(ctx, tenant)
	}
	if err != nil {
		return nil, err
	}
	return newKey(secret)
}

// keyID identifies a key without revealing anything about it.
func keyID(secret []byte) string {
	sum := sha256.Sum256(secret)
	return hex.EncodeToString(sum[:8])
}

func newKey(secret []byte) (*key, error) {
	if len(secret) != keySize {
		return nil, fmt.Errorf("it has %d bytes, not %d", len(secret), keySize)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	return &key{keyID(secret), aead}, err
}

// sealContext binds a sealed part to its record: it cannot be moved to another record.
func (r *Record) sealContext() []byte {
	return fmt.Appendf(nil, "%s/%s/%d", r.Tenant, r.Chain, r.Sequence)
}

// seal puts the private part into a record.
func (k *key) seal(r *Record, p *Private) error {
	plain, err := json.Marshal(p)
	if err != nil {
		return err
	}
	nonce := make([]byte, k.aead.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	r.Key, r.Sealed = k.id, k.aead.Seal(nonce, nonce, plain, r.sealContext())
	return nil
}

// open returns the private part of a record. It is not readable without the key under which
// it was sealed.
func (k *key) open(r *Record) (p Private, readable bool) {
	if k == nil || k.id != r.Key || len(r.Sealed) < k.aead.NonceSize() {
		return Private{}, false
	}
	plain, err := k.aead.Open(nil, r.Sealed[:k.aead.NonceSize()], r.Sealed[k.aead.NonceSize():], r.sealContext())
	if err != nil || json.Unmarshal(plain, &p) != nil {
		return Private{}, false
	}
	return p, true
}
