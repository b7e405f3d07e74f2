package app

import (
	"context"
	"errors"

	"github.com/toolstream/toolstream/internal/stream"
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
