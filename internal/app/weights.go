package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolstream/toolstream/internal/lease"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/internal/wholefile"
)

// weightsStore is the bucket as the trainer sees it: values without their
// revisions, and nothing where there is no value.
type weightsStore struct{ bucket }

// bucket is what the adapters of the store offer.
type bucket interface {
	Put(ctx context.Context, key string, value []byte) (revision uint64, err error)
	Get(ctx context.Context, key string) (stream.Entry, error)
	Delete(ctx context.Context, key string) error
	Keys(ctx context.Context, prefix string) ([]string, error)
}

func (s weightsStore) Put(ctx context.Context, key string, value []byte) error {
	_, err := s.bucket.Put(ctx, key, value)
	return err
}

func (s weightsStore) Get(ctx context.Context, key string) ([]byte, error) {
	entry, err := s.bucket.Get(ctx, key)
	if errors.Is(err, stream.ErrNotFound) {
		return nil, nil
	}
	return entry.Value, err
}

// guarded is the bucket to which only the holder of a lease writes.
type guarded struct {
	bucket
	lease *lease.Lease
}

// Put fails without the lease.
func (g guarded) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := g.lease.Check(); err != nil {
		return 0, err
	}
	return g.bucket.Put(ctx, key, value)
}

// Delete fails without the lease.
func (g guarded) Delete(ctx context.Context, key string) error {
	if err := g.lease.Check(); err != nil {
		return err
	}
	return g.bucket.Delete(ctx, key)
}

// Where trainers agree on the one that works, and where a data folder keeps its
// name there.
const (
	trainerLeaseKey = "trainer.lease"
	trainerNameFile = "trainer.name"
)

// trainerLease is the process's turn at training. It is in the name of the data
// folder, which one process has open at a time, so that a trainer that was killed
// goes on at once.
func (s *Served) trainerLease() (*lease.Lease, error) {
	name, err := folderName(s.cfg.Data)
	if err != nil {
		return nil, fmt.Errorf("name of the data folder: %w", err)
	}
	return lease.New(lease.Config{Key: trainerLeaseKey, Holder: name}, s.weights, s.log)
}

// folderName returns the name that a data folder has among trainers, a new one where it
// has none.
func folderName(folder string) (string, error) {
	path := filepath.Join(folder, trainerNameFile)
	name, err := os.ReadFile(path)
	if err == nil && len(name) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return string(name), err
	}
	name = []byte(rand.Text())
	return string(name), wholefile.Write(path, name, 0o600)
}
