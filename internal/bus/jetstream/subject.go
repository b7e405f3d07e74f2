package jetstream

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

// maxHeaders bounds the headers in bytes: the server counts them with 16 bits,
// and batches add some.
const maxHeaders = 1<<16 - overhead - 1

// maxKey bounds a key in bytes: its subject has to fit into the protocol's
// line of 4096 bytes.
const maxKey = 2048

// Reasons for refusing a message for good.
const (
	reasonBadKey    = "bad_key"
	reasonBadHeader = "bad_header"
)

// keyMark starts the key's token, which may not be empty.
const keyMark = "k"

// subjectOf returns the subject of the messages with a key.
func subjectOf(topic events.Topic, key string) string {
	return prefix + string(topic) + "." + keyMark + base64.RawURLEncoding.EncodeToString([]byte(key))
}

// allSubjects is the pattern of a topic's subjects.
func allSubjects(topic events.Topic) string { return prefix + string(topic) + ".*" }

// keyOf reads the key back from a subject. A record of another form gets the last token of its
// subject as key, for the stages to refuse.
func keyOf(subject string) string {
	token := subject[strings.LastIndexByte(subject, '.')+1:]
	encoded, ours := strings.CutPrefix(token, keyMark)
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	if !ours || err != nil {
		return token
	}
	return string(raw)
}

// encode turns a message into a message of NATS.
func encode(m stream.Message) (*nats.Msg, error) {
	if len(m.Key) > maxKey {
		return nil, stream.Permanent(reasonBadKey, fmt.Errorf("jetstream: key has %d bytes, more than %d", len(m.Key), maxKey))
	}
	out := &nats.Msg{Subject: subjectOf(m.Topic, m.Key), Data: m.Value}
	size := 0
	for name, value := range m.Headers {
		if out.Header == nil {
			out.Header = make(nats.Header, len(m.Headers))
		}
		escaped := escape(value)
		out.Header[name] = []string{escaped}
		size += len(name) + len(escaped) + len(": \r\n")
	}
	if size > maxHeaders {
		return nil, stream.Permanent(reasonBadHeader, fmt.Errorf("jetstream: headers of %d bytes, more than %d", size, maxHeaders))
	}
	size += len(m.Value) + overhead
	if size > MaxPayload {
		return nil, stream.Permanent(stream.ReasonTooLarge, fmt.Errorf("jetstream: message of %d bytes, more than %d", size, MaxPayload))
	}
	return out, nil
}

// overhead is room for the headers that batches add.
const overhead = 512

// reservedHeader starts the names of the server's own headers.
const reservedHeader = "Nats-"

// decodeHeaders returns headers as they were given to encode.
func decodeHeaders(h nats.Header) map[string]string {
	var out map[string]string
	for name, values := range h {
		if strings.HasPrefix(name, reservedHeader) || len(values) == 0 {
			continue
		}
		value, err := url.PathUnescape(values[0])
		if err != nil {
			value = values[0] // not written by this package
		}
		if out == nil {
			out = make(map[string]string, len(h))
		}
		out[name] = value
	}
	return out
}

// escape makes any text fit into a header line, and leaves common text as it
// is. url.PathUnescape reverses it.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		edge := i == 0 || i == len(value)-1
		if c > ' ' && c < 0x7f && c != '%' || c == ' ' && !edge {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
