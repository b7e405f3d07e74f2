package app

import (
	"context"
	"errors"

	"github.com/toolstream/toolstream/internal/adapter/jetstream"
	"github.com/toolstream/toolstream/internal/stream"
)

// weightsStore is the bucket as the trainer sees it: values without their
// revisions, and nothing where there is no value.
type weightsStore struct{ *jetstream.KV }

func (s weightsStore) Put(ctx context.Context, key string, value []byte) error {
	_, err := s.KV.Put(ctx, key, value)
	return err
}

func (s weightsStore) Get(ctx context.Context, key string) ([]byte, error) {
	entry, err := s.KV.Get(ctx, key)
	if errors.Is(err, stream.ErrNotFound) {
		return nil, nil
	}
	return entry.Value, err
}
