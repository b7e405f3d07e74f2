package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/stream"
)

// KVConfig names a bucket and says what it keeps.
type KVConfig struct {
	Bucket   string
	History  uint8 // versions kept of each key, 1 to 64
	Replicas int   // servers that hold a copy where the bucket is made; 1 when 0
}

// KV is a bucket of small values that everybody watches: versions of weights,
// settings. Keys consist of letters, digits and -/_=. characters. A value and
// what the protocol adds has to fit one message of the server: MaxValue.
//
// Nothing is asked of the server before the first use, so that a process can
// start while it is away. What is asked while there is no connection fails at
// once with ErrDisconnected; a watch waits instead.
type KV struct {
	cfg   KVConfig
	conn  *nats.Conn
	js    jetstream.JetStream
	check time.Duration // between two looks of a watch for its bucket

	mu sync.Mutex         // guards kv
	kv jetstream.KeyValue // nil until it was found or made
}

// NewKV returns a bucket that the first use looks up, and makes if it is not
// there.
func NewKV(cfg KVConfig, conn *nats.Conn) (*KV, error) {
	if cfg.Bucket == "" || conn == nil || cfg.History < 1 || cfg.History > jetstream.KeyValueMaxHistory || cfg.Replicas < 0 {
		return nil, fmt.Errorf("nats: a bucket needs a name, a connection and a history of 1 to %d, have %+v", jetstream.KeyValueMaxHistory, cfg)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("nats: bucket %s: %w", cfg.Bucket, err)
	}
	return &KV{cfg: cfg, conn: conn, js: js, check: checkEvery}, nil
}

// Open looks the bucket up, and makes it if it is not there. One that somebody
// else made is used as it is, if it keeps as many versions as are wanted. It is
// for those that want to know at the start: every other method does it too.
func (k *KV) Open(ctx context.Context) error {
	_, err := k.bucket(ctx)
	return k.failed("open", "", err)
}

func (k *KV) bucket(ctx context.Context) (jetstream.KeyValue, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kv != nil {
		return k.kv, nil
	}
	if !k.conn.IsConnected() {
		return nil, disconnected(k.conn)
	}
	kv, err := k.js.KeyValue(ctx, k.cfg.Bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		kv, err = k.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: k.cfg.Bucket, History: k.cfg.History, Storage: jetstream.FileStorage, Replicas: k.cfg.Replicas,
		})
	}
	if errors.Is(err, jetstream.ErrBucketExists) { // another process was faster
		kv, err = k.js.KeyValue(ctx, k.cfg.Bucket)
	}
	if err != nil {
		return nil, err
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, err
	}
	if kept := status.History(); kept < int64(k.cfg.History) {
		return nil, fmt.Errorf("it keeps %d versions of a key, wanted are %d: change the bucket, or remove it", kept, k.cfg.History)
	}
	k.kv = kv
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

// Delete removes a key; one that is not there is no error.
func (k *KV) Delete(ctx context.Context, key string) error {
	kv, err := k.bucket(ctx)
	if err == nil {
		err = kv.Delete(ctx, key)
	}
	return k.failed("delete", key, err)
}

// History returns the kept versions of a key, oldest first, or stream.ErrNotFound.
func (k *KV) History(ctx context.Context, key string) ([]stream.Entry, error) {
	var out []stream.Entry
	found := false
	err := k.list(ctx, key, func(e jetstream.KeyValueEntry) {
		found = true
		if e.Operation() == jetstream.KeyValuePut {
			out = append(out, entry(e))
		}
	}, jetstream.IncludeHistory())
	if err == nil && !found {
		err = stream.ErrNotFound
	}
	return out, k.failed("history", key, err)
}

// Keys returns the keys that begin with prefix, sorted.
func (k *KV) Keys(ctx context.Context, prefix string) ([]string, error) {
	var out []string
	err := k.list(ctx, filter(prefix), func(e jetstream.KeyValueEntry) {
		if strings.HasPrefix(e.Key(), prefix) {
			out = append(out, e.Key())
		}
	}, jetstream.IgnoreDeletes(), jetstream.MetaOnly())
	if err != nil {
		return nil, k.failed("keys", prefix, err)
	}
	slices.Sort(out)
	return out, nil
}

func entry(e jetstream.KeyValueEntry) stream.Entry {
	out := stream.Entry{Key: e.Key(), Revision: e.Revision()}
	if e.Operation() == jetstream.KeyValuePut {
		out.Value = append([]byte{}, e.Value()...)
	}
	return out
}

// failed names what failed, and gives errors the port's names. A bucket that is
// gone is looked up, and made, by the next use.
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
		k.mu.Lock()
		k.kv = nil
		k.mu.Unlock()
	}
	if key != "" {
		op += " " + key
	}
	return fmt.Errorf("nats: %s in bucket %s: %w", op, k.cfg.Bucket, named(k.conn, err))
}
