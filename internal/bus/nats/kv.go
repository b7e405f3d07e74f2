package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// KVConfig names a bucket.
type KVConfig struct {
	Bucket   string
	Replicas int // servers that hold a copy, when the bucket is made; 1 when 0

	TTL time.Duration // lifetime of a value, when the bucket is made; 0: unlimited
}

// KV is a bucket of small values that every process watches: versions of weights, settings. Keys
// consist of letters, digits and -/_=. characters. A value and the protocol's overhead have to fit
// one message of the server: MaxValue.
//
// The first use looks the bucket up, and makes it if it is missing, so that a process can start
// while the server is away. Without a connection a call fails at once with ErrDisconnected; a
// watch waits instead.
type KV struct {
	cfg   KVConfig
	conn  *nats.Conn
	js    jetstream.JetStream
	check time.Duration // between two looks of a watch for its bucket

	history *HistoryConfig // of a History; nil: one value is kept of a key

	found atomic.Pointer[jetstream.KeyValue] // nil until it was found or made
}

// NewKV returns a bucket.
func NewKV(cfg KVConfig, conn *nats.Conn) (*KV, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("nats: bucket %s: %w", cfg.Bucket, err)
	}
	return &KV{cfg: cfg, conn: conn, js: js, check: checkEvery}, nil
}

// Open looks the bucket up, for an error at the start: every other method does it too.
func (k *KV) Open(ctx context.Context) error {
	_, err := k.bucket(ctx)
	return k.failed("open", "", err)
}

func (k *KV) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	if kv := k.found.Load(); kv != nil {
		return *kv, nil
	}
	if !k.conn.IsConnected() {
		return nil, disconnected(k.conn)
	}
	kv, err := k.js.KeyValue(ctx, k.cfg.Bucket)
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound) && k.history != nil:
		kv, err = k.history.make(ctx, k.js)
	case errors.Is(err, jetstream.ErrBucketNotFound):
		kv, err = k.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: k.cfg.Bucket, Storage: jetstream.FileStorage, Replicas: k.cfg.Replicas, TTL: k.cfg.TTL,
		})
	}
	if errors.Is(err, jetstream.ErrBucketExists) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another process was faster
		kv, err = k.js.KeyValue(ctx, k.cfg.Bucket)
	}
	if err != nil {
		return nil, err
	}
	k.found.Store(&kv)
	return kv, nil
}

// MaxValue is the largest value in bytes that the server takes, 0 while no
// server was reached. It is the server's max_payload less half a kilobyte.
func (k *KV) MaxValue() int { return max(int(k.conn.MaxPayload())-overhead, 0) }

// Put stores a value whatever was there, and returns its revision. One above
// MaxValue is refused for good, with ErrTooLarge.
func (k *KV) Put(ctx context.Context, key string, value []byte) (uint64, error) {
	return k.write(ctx, "put", key, value, func(kv jetstream.KeyValue) (uint64, error) {
		return kv.Put(ctx, key, value)
	})
}

// Create stores the first value of a key, or fails with stream.ErrConflict. See
// Put.
func (k *KV) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return k.write(ctx, "create", key, value, func(kv jetstream.KeyValue) (uint64, error) {
		return kv.Create(ctx, key, value)
	})
}

// Update replaces the value that has the given revision, or fails with
// stream.ErrConflict. See Put.
func (k *KV) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return k.write(ctx, "update", key, value, func(kv jetstream.KeyValue) (uint64, error) {
		return kv.Update(ctx, key, value, revision)
	})
}

func (k *KV) write(ctx context.Context, op, key string, value []byte, do func(jetstream.KeyValue) (uint64, error)) (uint64, error) {
	kv, err := k.bucket(ctx)
	if err != nil {
		return 0, k.failed(op, key, err)
	}
	if most := k.MaxValue(); len(value) > most {
		err := fmt.Errorf("value of %d bytes, at most %d: %w of %d: raise that, or publish less", len(value), most, ErrTooLarge, k.conn.MaxPayload())
		return 0, stream.Permanent(stream.ReasonTooLarge, k.failed(op, key, err))
	}
	revision, err := do(kv)
	return revision, k.failed(op, key, err)
}

// Get returns the newest value, or stream.ErrNotFound.
func (k *KV) Get(ctx context.Context, key string) (stream.Entry, error) {
	kv, err := k.bucket(ctx)
	if err != nil {
		return stream.Entry{}, k.failed("get", key, err)
	}
	e, err := kv.Get(ctx, key)
	if err != nil {
		return stream.Entry{}, k.failed("get", key, err)
	}
	return entry(e), nil
}

// Delete removes a key. A missing key is not an error.
func (k *KV) Delete(ctx context.Context, key string) error {
	kv, err := k.bucket(ctx)
	if err == nil {
		err = kv.Delete(ctx, key)
	}
	return k.failed("delete", key, err)
}

// Keys returns the keys that begin with prefix, sorted.
func (k *KV) Keys(ctx context.Context, prefix string) ([]string, error) {
	if !k.conn.IsConnected() {
		return nil, k.failed("keys", prefix, disconnected(k.conn))
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var out []string
	err := k.watch(ctx, prefix, func(e jetstream.KeyValueEntry) error {
		if e == nil {
			return errListed
		}
		out = append(out, e.Key())
		return nil
	}, jetstream.IgnoreDeletes(), jetstream.MetaOnly())
	if !errors.Is(err, errListed) {
		return nil, k.failed("keys", prefix, err)
	}
	slices.Sort(out)
	return out, nil
}

// errListed ends a list.
var errListed = errors.New("listed")

func entry(e jetstream.KeyValueEntry) stream.Entry {
	out := stream.Entry{Key: e.Key(), Revision: e.Revision()}
	if e.Operation() == jetstream.KeyValuePut {
		out.Value = append([]byte{}, e.Value()...)
	}
	return out
}

// failed adds the operation and key to an error, and maps errors to the port's. If the bucket is
// gone, the next use looks it up and makes it.
func (k *KV) failed(op, key string, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyNotFound):
		err = stream.ErrNotFound
	case errors.Is(err, jetstream.ErrKeyExists):
		err = stream.ErrConflict
	case errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence:
		err = stream.ErrConflict
	case errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, nats.ErrNoResponders):
		k.found.Store(nil)
	}
	if key != "" {
		op += " " + key
	}
	return fmt.Errorf("nats: %s in bucket %s: %w", op, k.cfg.Bucket, named(k.conn, err))
}
