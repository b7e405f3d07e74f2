package standardizer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// english is the only language that can be requested for answers.
const english = "en"

// wanted is the origin of documents made today.
type wanted struct {
	Prompt   string
	Model    string
	Language string
}

// debt is the difference between a document and the one that would be made today.
type debt int

const (
	none   debt = iota
	better      // a later prompt, another model or language
	filled      // the model was never asked about it, or may be asked now
	held        // quarantine, which takes no call
)

// owes returns the debt of a tool's document with the origin; hold says whether it belongs
// in quarantine.
func (w wanted) owes(hold bool, o *schema.Origin) debt {
	isHeld := o != nil && o.Fallback == schema.FallbackQuarantined
	switch {
	case hold && !isHeld:
		return held
	case o == nil || o.Fallback == schema.FallbackPending || isHeld && !hold:
		return filled
	case o.Prompt != w.Prompt || o.Model != w.Model || o.Language != w.Language:
		return better
	}
	return none
}

// String names the origin in a header.
func (w wanted) String() string { return w.Prompt + " " + w.Model }

// filler makes documents: by rules, and with the checked answers of a language model.
type filler struct {
	model   llm.Model
	vectors llm.Vectors
	wanted  wanted
	policy  policy
	answers *answerCache
	flights singleflight.Group // of questions under way
	now     func() time.Time
	log     *slog.Logger
	metrics *metrics
}

func newFiller(c Config, d Deps) (*filler, error) {
	if d.Model != nil && (d.Answers == nil || d.Now == nil) {
		return nil, errors.New("standardizer: a model needs answers and a clock")
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	m := newMetrics(d.Registerer)
	f := &filler{model: d.Model, vectors: d.Vectors, now: d.Now, log: d.Logger, metrics: m, wanted: wanted{Language: c.Language}}
	if f.now == nil {
		f.now = time.Now
	}
	f.policy, _ = newPolicy(c.Quarantine, c.Exempt) // Validate has checked them
	if d.Model != nil {
		f.wanted.Prompt, f.wanted.Model = prompts.Version(), text.Truncate(d.Model.Name(), schema.MaxModel)
		near, _ := lru.New[string, verdict](remembered) // fails only for a size of 0
		f.answers = &answerCache{near: near, answers: d.Answers, metrics: m, log: d.Logger}
	}
	return f, nil
}

// document gives a change its document: by rules and, with a model, by the verdict of
// decide. The error is permanent if no document can be made; other errors come from decide.
func (f *filler) document(ctx context.Context, c *events.Change, decide func(context.Context, *subject) (verdict, error)) error {
	doc, err := f.byRules(c)
	if err != nil {
		return err
	}
	if s := f.subject(c, &doc); s != nil {
		v := verdict{Fallback: schema.FallbackQuarantined}
		if !doc.Quarantined {
			if v, err = decide(ctx, s); err != nil {
				return err
			}
		}
		doc = f.complete(s, v)
	}
	c.Document = &doc
	return nil
}

// byRules returns the document that rules make of a change.
func (f *filler) byRules(c *events.Change) (schema.Document, error) {
	doc, err := rules.Standardize(c.Format, c.ID, c.Raw)
	switch {
	case errors.Is(err, rules.ErrFormat):
		return doc, stream.Permanent(ReasonUnknownFormat, err)
	case err != nil:
		if unread := (*jsondoc.Error)(nil); errors.As(err, &unread) {
			err = &schema.Invalid{Path: "/raw" + unread.Path, Reason: unread.Text()}
		}
		return doc, stream.Permanent(ReasonBadDocument, err)
	}
	from := source{c.Ref, c.Provider, c.Hash, c.Released, c.Held}
	doc.Flags = f.policy.flags(from, doc.Flags)
	doc.Quarantined = f.policy.holds(from, doc.Flags)
	return doc, nil
}

// subject is a document on its way through the model.
type subject struct {
	tenant   string
	key      string
	question prompts.Question
	vectors  llm.Vectors
}

// subject returns the question about a document, or nil.
func (f *filler) subject(c *events.Change, byRules *schema.Document) *subject {
	if f.model == nil || c.Kind != schema.KindTool {
		return nil
	}
	stated := rules.StatedBy(c.Format, c.Raw, byRules)
	if slices.Contains(byRules.Flags, injection.Flag) {
		stated.Names = true // the text may mention a parameter to have it added
	}
	return &subject{
		tenant:   c.Tenant,
		key:      c.Tenant + "." + answerKey(f.wanted, c.Format, byRules.Name, c.Raw),
		vectors:  f.vectors,
		question: prompts.Question{Raw: c.Raw, Format: c.Format, Document: byRules, Stated: stated, Language: f.wanted.Language},
	}
}

// complete returns the document by rules, completed by the verdict.
func (f *filler) complete(s *subject, v verdict) schema.Document {
	origin := &schema.Origin{
		Prompt: f.wanted.Prompt, Model: f.wanted.Model, Language: f.wanted.Language,
		Fallback: v.Fallback, Violations: v.Violations, Refused: v.Refused,
	}
	doc := *s.question.Document
	doc.Standardized = origin
	if v.Fallback == "" {
		m := prompts.Merge(doc, s.question.Stated, v.answer)
		if f.wanted.Language != "" {
			m.Document.Language = f.wanted.Language
		}
		err := m.Document.Validate()
		if err == nil {
			origin.Fields, origin.Missing, origin.Repaired = m.Fields, m.Missing, len(v.Said) > 1
			return m.Document
		}
		origin.Fallback, origin.Violations = schema.FallbackUngrounded, []string{text.Truncate(err.Error(), schema.MaxViolation)}
	}
	if origin.Fallback != schema.FallbackPending && origin.Fallback != schema.FallbackQuarantined {
		doc.Quality = schema.QualityLow
	}
	return doc
}
