package standardizer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// Name is the stage's name: of its consumer group, in metrics, logs and dead
// letters.
const Name = "standardizer"

// Reasons of the dead letters that this stage writes.
const (
	ReasonUndecodable   = stream.ReasonUndecodable
	ReasonUnknownSchema = events.ReasonUnknownSchema
	ReasonUnknownFormat = "unknown_format"
	ReasonBadKey        = "bad_key"
	ReasonBadDocument   = "bad_document"
)

// Config of the stage.
type Config struct {
	Language   string   // of the answers: "" for the language of the source, "en" for English
	Quarantine []string // documents with one of these flags are kept from the language model and from answers
	Exempt     []string // flags that documents of a provider do not get, as "flag=provider"
}

// Deps is what the stage works with. Without a model, rules make all documents.
type Deps struct {
	Groups     stream.Groups
	Publisher  stream.Publisher
	Model      llm.Model        // with retries, limits and budgets; optional
	Answers    Answers          // earlier answers of the model; required with a model
	Vectors    llm.Vectors      // compare answers with documents; without them, words decide
	Now        func() time.Time // required with a model
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Traces     trace.TracerProvider // optional
}

// Service is the stage. It does not wait for the model: a document without an answer stays
// as the rules made it until a Refresher has asked.
type Service struct {
	deps   Deps
	loop   *stream.Loop
	filler *filler
}

// New checks the configuration and registers metrics. It starts nothing.
func New(c Config, d Deps) (*Service, error) {
	f, err := newFiller(c, d)
	if err != nil {
		return nil, err
	}
	s := &Service{deps: d, filler: f}
	s.loop = stream.New(stream.Stage{
		Name:    Name,
		Topic:   events.ToolsRaw,
		Handler: stream.Each(runtime.GOMAXPROCS(0), s.standardize),
	}, stream.Deps{Groups: d.Groups, Publisher: d.Publisher, Logger: d.Logger, Registerer: d.Registerer, Traces: d.Traces})
	return s, nil
}

// Validate checks that the language and the flags are known.
func (c Config) Validate() error {
	if c.Language != "" && c.Language != english {
		return fmt.Errorf("standardizer: language %q must be \"\", for the language of the source, or %q", c.Language, english)
	}
	_, err := newPolicy(c.Quarantine, c.Exempt)
	return err
}

// Run works until ctx ends and the records under way are done.
func (s *Service) Run(ctx context.Context) error { return s.loop.Run(ctx) }

// standardize answers a raw change with the same change and its document, under the same
// key. It passes on a delete unchanged, and also a null record, which drops the key from a
// compacted topic.
func (s *Service) standardize(ctx context.Context, m stream.Message) ([]stream.Message, error) {
	out := stream.Message{Topic: events.ToolsStandardized, Key: m.Key, Headers: maps.Clone(m.Headers)}
	why, again := out.Headers[events.HeaderRefresh]
	if again {
		out.Headers[events.HeaderRefreshed] = why
		delete(out.Headers, events.HeaderRefresh)
	}
	if m.IsNull() {
		return []stream.Message{out}, nil
	}
	c, err := decode(m)
	if err != nil {
		return nil, err
	}
	if c.Op == events.OpDelete {
		out.Value = m.Value
		return []stream.Message{out}, nil
	}
	if err := s.filler.document(ctx, &c, s.filler.kept); err != nil {
		return nil, err
	}
	if again && c.Document.Pending() {
		return nil, nil // no better than the document on the bus
	}
	if c.Kind == schema.KindTool {
		by := "rules"
		if o := c.Document.Standardized; o != nil {
			by = outcome(o.Fallback, o.Repaired)
		}
		s.filler.metrics.documents.WithLabelValues(by).Inc()
	}
	// The edition tells this document from earlier documents of the same version. A document
	// by rules alone is always the same; any document that the model made is newer.
	if c.Edition = 0; !c.Document.Pending() && (c.Document.Standardized != nil || again) {
		c.Edition = uint64(s.filler.now().UnixMicro())
	}
	if out.Value, err = events.Encode(&c); err != nil {
		return nil, stream.Permanent(ReasonBadDocument, err)
	}
	if _, set := out.Headers[events.HeaderSchema]; set { // the record may have come in an older version
		out.Headers[events.HeaderSchema] = strconv.Itoa(events.ChangeSchema)
	}
	return []stream.Message{out}, nil
}

// decode reads a change. Its errors are permanent.
func decode(m stream.Message) (events.Change, error) {
	if len(m.Value) == 0 {
		return events.Change{}, stream.Permanent(ReasonBadKey, errors.New("the record has no value"))
	}
	c, err := stream.Decode[events.Change](m)
	switch {
	case err != nil:
		return c, err
	case m.Key == "" || m.Key != events.Key(c.Ref):
		return c, stream.Permanent(ReasonBadKey, fmt.Errorf("the key does not name the change's entity, %s %q", c.Kind, c.ID))
	case c.Op != events.OpUpsert && c.Op != events.OpDelete:
		return c, stream.Permanent(ReasonUndecodable, fmt.Errorf("unknown operation %q", c.Op))
	}
	return c, nil
}
