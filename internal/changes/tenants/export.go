package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// document is a line with a document, as an import reads it.
type document struct {
	ID       string          `json:"id"`
	Provider string          `json:"provider,omitempty"`
	Kind     schema.Kind     `json:"kind"`
	Version  string          `json:"source_version,omitempty"`
	Document json.RawMessage `json:"document"`
}

// part is any other line. An import passes over it.
type part struct {
	Part  string `json:"part"`
	Value any    `json:"value"`
}

// The parts of an export.
const (
	partTenant      = "tenant"
	partValue       = "value"
	partDeadLetters = "dead_letter"
	partSearches    = "search"
	partFeedback    = "feedback"
	partRevision    = "revision"
)

// value is a small value of a bucket.
type value struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Value  any    `json:"value"`
}

// Export writes the data of a tenant as lines of JSON: its documents as received, then sources,
// weights and other values, dead letters, searches, feedback and earlier changes. It holds one
// batch of records in memory at a time.
func (s *Service) Export(ctx context.Context, tenant string, to io.Writer) error {
	out := json.NewEncoder(to)
	out.SetEscapeHTML(false)
	if err := out.Encode(part{partTenant, map[string]any{"tenant": tenant, "exported": time.Now().UTC()}}); err != nil {
		return err
	}
	err := s.exportTopic(ctx, tenant, events.ToolsRaw, func(m stream.Message) error {
		c, err := events.Decode[events.Change](m.Value)
		if err != nil || c.Op != events.OpUpsert || !s.deps.Newest(m.Key, c.Revision) {
			return nil // the unreadable record is in a dead letter
		}
		d := document{ID: c.ID, Provider: c.Provider, Kind: c.Kind, Document: c.Raw}
		if c.Source > 0 {
			d.Version = strconv.FormatUint(c.Source, 10)
		}
		return out.Encode(d)
	})
	if err != nil {
		return err
	}
	if err := s.exportValues(ctx, tenant, out); err != nil {
		return err
	}
	for _, p := range []struct {
		topic events.Topic
		name  string
	}{{events.DLQ, partDeadLetters}, {events.Searches, partSearches}, {events.FeedbackTopic, partFeedback}} {
		if err := s.exportTopic(ctx, tenant, p.topic, func(m stream.Message) error {
			return out.Encode(part{p.name, asJSON(m.Value)})
		}); err != nil {
			return err
		}
	}
	return s.exportLog(ctx, tenant, out)
}

var errErased = errors.New("the tenant is being erased")

// exportLog writes the changes of a tenant that are kept.
func (s *Service) exportLog(ctx context.Context, tenant string, out *json.Encoder) error {
	erased := s.deps.Fences.Through(tenant)
	err := s.deps.Log.All(ctx, tenant+".", func(_ string, raw []byte) error {
		if c, err := events.Decode[events.Change](raw); err != nil || c.Revision <= erased {
			return nil
		}
		return out.Encode(part{partRevision, asJSON(raw)})
	})
	if err != nil {
		return fmt.Errorf("tenants: export revisions of %s: %w", tenant, err)
	}
	return nil
}

// exportTopic calls write with the records of a tenant in a topic.
func (s *Service) exportTopic(ctx context.Context, tenant string, topic events.Topic, write func(stream.Message) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A batch lasts as long as its client reads: it holds up no other tenant, and ends with its own.
	bus, began := &Bus{s.deps.Server, s.deps.Fences, tenant}, s.deps.Fences.All()[tenant].At
	err := stream.ReadAll(ctx, bus, topic, func(m stream.Message) {
		if of, _ := subjectOf(m); of != tenant || m.Erased || m.IsNull() || ctx.Err() != nil {
			return
		}
		if s.deps.Fences.Since(tenant, began) {
			cancel(errErased)
			return
		}
		if err := write(m); err != nil {
			cancel(err)
		}
	})
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("tenants: export %s of %s: %w", topic, tenant, err)
	}
	return nil
}

// exportValues writes the values of a tenant.
func (s *Service) exportValues(ctx context.Context, tenant string, out *json.Encoder) error {
	for _, b := range s.deps.Buckets {
		if b.Cache {
			continue
		}
		keys, err := b.Values.Keys(ctx, "")
		if err != nil {
			return err
		}
		own := b.Has(tenant)
		for _, key := range keys {
			if !own(key) {
				continue
			}
			e, err := b.Values.Get(ctx, key)
			if err != nil {
				return err
			}
			if err := out.Encode(part{partValue, value{b.Name, key, asJSON(e.Value)}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// asJSON returns valid JSON as it is, and anything else as a string.
func asJSON(raw []byte) any {
	if json.Valid(raw) {
		return json.RawMessage(raw)
	}
	return string(raw)
}
