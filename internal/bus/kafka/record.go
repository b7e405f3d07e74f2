package kafka

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// Offsets of the port count from 1, Kafka's offsets from 0.

// portOffset is the port's offset of the record that Kafka has at this one.
func portOffset(kafka int64) uint64 { return uint64(kafka) + 1 }

// nextAfter returns Kafka's offset of the record after the port's.
func nextAfter(port uint64) int64 { return int64(port) }

// Upper limits of the bytes of a record besides its content: the head of a batch, and varints
// of the record and of each header.
const (
	recordOverhead = 128
	headerOverhead = 10
)

// size is the number of bytes that counts against Config.MaxMessage.
func size(m stream.Message) int {
	n := recordOverhead + len(m.Key) + len(m.Value)
	for name, value := range m.Headers {
		n += headerOverhead + len(name) + len(value)
	}
	return n
}

func (c Config) checkSize(m stream.Message) error {
	if n := size(m); n > c.MaxMessage {
		return stream.Permanent(stream.ReasonTooLarge,
			fmt.Errorf("kafka: message of %d bytes for %s, more than %d", n, m.Topic, c.MaxMessage))
	}
	return nil
}

// encode turns a message into a record of a produce request. A record can be
// read once, so every request needs new ones.
func encode(m stream.Message, at time.Time) kafkago.Record {
	r := kafkago.Record{Time: at, Key: kafkago.NewBytes(notNil([]byte(m.Key)))}
	// Only a record that ends its key is a null to Kafka, which compaction removes in time. Any
	// other empty value is damaged and stays to be found.
	if !m.IsNull() {
		r.Value = kafkago.NewBytes(notNil(m.Value))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		r.Headers = append(r.Headers, kafkago.Header{Key: name, Value: []byte(m.Headers[name])})
	}
	return r
}

// notNil keeps the library from treating an empty value as a null.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// decode copies a record.
func decode(topic events.Topic, partition int, r *kafkago.Record) (stream.Message, error) {
	key, err := content(r.Key)
	if err != nil {
		return stream.Message{}, err
	}
	value, err := content(r.Value)
	if err != nil {
		return stream.Message{}, err
	}
	m := stream.Message{
		Topic: topic, Partition: partition, Offset: portOffset(r.Offset), Time: r.Time, Key: string(key), Value: value,
	}
	for _, h := range r.Headers {
		if m.Headers == nil {
			m.Headers = make(map[string]string, len(r.Headers))
		}
		m.Headers[h.Key] = string(h.Value)
	}
	return m, nil
}

// content reads a key or a value and gives its memory back.
func content(b kafkago.Bytes) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	defer b.Close()
	out := make([]byte, b.Len())
	_, err := io.ReadFull(b, out)
	return out, err
}
