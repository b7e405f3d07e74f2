package nats

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolstream/toolstream/internal/bus/stream"
)

// HistoryConfig describes a bucket that keeps the last values of each key.
type HistoryConfig struct {
	KVConfig
	Values int   // of each key
	Bytes  int64 // of all together, above which the oldest go
}

// History is a bucket that keeps the last values of each key, in the order of their arrival. It
// takes the keys of a KV. The first use creates it.
type History struct{ kv *KV }

// NewHistory returns a bucket.
func NewHistory(cfg HistoryConfig, conn *nats.Conn) (*History, error) {
	kv, err := NewKV(cfg.KVConfig, conn)
	if err != nil {
		return nil, err
	}
	kv.history = &cfg
	return &History{kv}, nil
}

// MaxValue is KV.MaxValue.
func (h *History) MaxValue() int { return h.kv.MaxValue() }

// Append adds the values of entries, in their order, to the values of their keys. After an
// error any part of them may be there.
func (h *History) Append(ctx context.Context, entries []stream.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := h.kv.bucket(ctx)
	if err == nil && !h.kv.conn.IsConnected() {
		err = disconnected(h.kv.conn)
	}
	var batch []*nats.Msg
	size := 0
	for _, e := range entries {
		m := &nats.Msg{Subject: h.subject(e.Key), Data: e.Value}
		if len(batch) == maxBatch || len(batch) > 0 && size+m.Size() > maxBatchBytes {
			if err == nil {
				err = Store(ctx, h.kv.conn, h.kv.js, batch)
			}
			batch, size = nil, 0
		}
		batch, size = append(batch, m), size+m.Size()
	}
	if err == nil {
		err = Store(ctx, h.kv.conn, h.kv.js, batch)
	}
	return h.kv.failed("append", "", err)
}

func (h *History) subject(key string) string { return "$KV." + h.kv.cfg.Bucket + "." + key }

// Values returns the values of a key, the oldest first.
func (h *History) Values(ctx context.Context, key string) (out [][]byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	kv, err := h.kv.bucket(ctx)
	if err == nil && !h.kv.conn.IsConnected() {
		err = disconnected(h.kv.conn)
	}
	var w jetstream.KeyWatcher
	if err == nil {
		w, err = kv.Watch(ctx, key, jetstream.IncludeHistory(), jetstream.IgnoreDeletes())
	}
	if err != nil {
		return nil, h.kv.failed("read", key, err)
	}
	defer stopWatch(w)
	for {
		select {
		case <-ctx.Done():
			return nil, h.kv.failed("read", key, ctx.Err())
		case e, open := <-w.Updates():
			switch {
			case !open:
				return nil, h.kv.failed("read", key, errWatchEnded)
			case e == nil:
				return out, nil
			}
			out = append(out, e.Value())
		}
	}
}

// All calls fn with all values of the keys with a prefix, the oldest value of each key first.
func (h *History) All(ctx context.Context, prefix string, fn func(key string, value []byte) error) error {
	if !h.kv.conn.IsConnected() {
		return h.kv.failed("list", prefix, disconnected(h.kv.conn))
	}
	err := h.kv.watch(ctx, prefix, func(e jetstream.KeyValueEntry) error {
		if e == nil {
			return errListed
		}
		return fn(e.Key(), e.Value())
	}, jetstream.IncludeHistory(), jetstream.IgnoreDeletes())
	if errors.Is(err, errListed) {
		return nil
	}
	return h.kv.failed("list", prefix, err)
}

// Forget removes a key with all its values.
func (h *History) Forget(ctx context.Context, key string) error {
	_, err := h.purge(ctx, h.subject(key))
	return h.kv.failed("forget", key, err)
}

// Erase removes the keys below a prefix that ends with a dot, with all their values and delete
// markers, and returns the number of keys.
func (h *History) Erase(ctx context.Context, prefix string) (n int, err error) {
	n, err = h.purge(ctx, h.subject(prefix)+">")
	if err == nil {
		_, err = h.kv.Put(ctx, ErasedKey, nil)
	}
	return n, h.kv.failed("erase", prefix, err)
}

// purge removes the messages of a pattern of subjects.
func (h *History) purge(ctx context.Context, pattern string) (n int, err error) {
	if _, err := h.kv.bucket(ctx); err != nil {
		return 0, err
	}
	st, err := h.kv.js.Stream(ctx, kvStream+h.kv.cfg.Bucket)
	if err != nil {
		return 0, err
	}
	info, err := st.Info(ctx, jetstream.WithSubjectFilter(pattern))
	if err != nil {
		return 0, err
	}
	return len(info.State.Subjects), st.Purge(ctx, jetstream.WithPurgeSubject(pattern))
}

// kvStream begins the names of the streams of buckets.
const kvStream = "KV_"

// make creates the bucket as KV does, with two additions: batches, and dropping the oldest
// values if the bucket is full.
func (c *HistoryConfig) make(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{
		Name: kvStream + c.Bucket, Subjects: []string{"$KV." + c.Bucket + ".>"}, Storage: jetstream.FileStorage, Replicas: max(c.Replicas, 1),
		MaxMsgsPerSubject: int64(c.Values), MaxBytes: c.Bytes, Discard: jetstream.DiscardOld,
		AllowAtomicPublish: true, AllowRollup: true, AllowDirect: true, DenyDelete: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make it, with %d bytes of the server's files (max_file_store) reserved: %w", c.Bytes, err)
	}
	return js.KeyValue(ctx, c.Bucket)
}
