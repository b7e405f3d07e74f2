package httpserver

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/pkg/schema/jsonschema"
)

const schemasPrefix = "#/components/schemas/"

// typeNames are the names of types in the document that differ from their names in Go: a name in
// Go does not repeat its package.
var typeNames = map[string]string{
	"audit.Excerpt": "AuditPage", "audit.Opened": "AuditRecord", "audit.Head": "AuditHead", "audit.HeadList": "AuditHeads",
	"deadletter.page": "DeadLetterPage", "deadletter.Letter": "DeadLetter", "deadletter.whole": "DeadLetterDetail",
	"deadletter.Decision": "DeadLetterDecision", "deadletter.bulk": "DeadLetterDecisions", "deadletter.edited": "EditedDeadLetter",
	"deadletter.Location": "DeadLetterLocation", "deadletter.reasonCount": "DeadLetterReason",
	"reindex.Report": "ReindexStatus", "reindex.Request": "ReindexRequest", "reindex.State": "IndexVersion",
	"ingest.Outcome": "ImportOutcome", "ingest.Summary": "ImportSummary", "ingest.changeAnswer": "ChangeResult", "ingest.syncAnswer": "SyncResult",
	"ingest.eventsAnswer": "EventResults", "ingest.EventOutcome": "EventResult",
	"llm.Account":   "LLMAccount",
	"policy.Policy": "Grants", "policy.Replaced": "ReplacedGrants", "policy.Effects": "GrantEffects", "policy.Count": "ToolCount",
	"policy.Verdict": "GrantVerdict",
	"live.Tools":     "ToolsEvent", "live.DeadLetters": "DeadLettersEvent", "live.Sources": "SourcesEvent", "live.Weights": "WeightsEvent",
	"questions.Relevant": "RelevantTool",
	"mcp.RemoteInput":    "RemoteValue",
	"provenance.Trace":   "Provenance",
	"catalogue.Entry":    "ToolSummary", "catalogue.entityAnswer": "Tool", "catalogue.toolsPage": "ToolPage", "catalogue.providersPage": "ProviderPage",
	"catalogue.change": "ChangeReference", "catalogue.statesAnswer": "ChangeStates", "record.feedbackBody": "Feedback", "record.feedbackAnswer": "FeedbackResult",
	"rewriting.Failed": "FailedRewrite",
	"schema.Result":    "Hit",
	"source.Spec":      "SourceSpec", "source.Auth": "SourceAuth", "sources.eventAnswer": "SourceEventResult", "sources.Trial": "SourceTrial",
	"status.Model": "IndexedModel", "status.History": "StatusHistory", "status.Sources": "SourcesStatus", "status.Unwell": "SourceProblem",
	"sources.Changed": "SourceChanges", "sources.Loss": "SourceLoss", "sources.Names": "SourceNames", "sources.proposed": "ProposedSource", "source.Mapping": "SourceMapping",
	"revisions.Difference": "RevisionDifference",
	"tenants.Erased":       "ErasedTenant",
	"trainer.Damaged":      "DamagedWeights", "trainer.Figures": "WeightsGain", "trainer.TakenBack": "ForgetResult",
	"trainer.weightsList": "WeightsVersions",
}

// typeName names a type in the document.
func typeName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := typeNames[path.Base(t.PkgPath())+"."+t.Name()]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// notNull declares that lists in the document are never null: they are empty, or left out.
var notNull = sync.OnceFunc(func() { huma.DefaultArrayNullable = false })

// newTypes returns a registry of the types in the document.
func newTypes() huma.Registry {
	notNull()
	r := huma.NewMapRegistry(schemasPrefix, typeName)
	r.RegisterTypeAlias(typeOf[huma.ErrorModel](), typeOf[problem]())
	r.RegisterTypeAlias(typeOf[huma.ErrorDetail](), typeOf[problemError]())
	r.RegisterTypeAlias(typeOf[schema.Kind](), typeOf[kind]())
	r.RegisterTypeAlias(typeOf[schema.FeedbackEvent](), typeOf[feedbackEvent]())
	return r
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }

// problem is huma.ErrorModel, as the document describes it.
type problem struct {
	Type     string          `json:"type,omitempty" format:"uri" doc:"Kind of problem; absent if the status says everything."`
	Title    string          `json:"title" doc:"The status in words."`
	Status   int             `json:"status" doc:"The HTTP status."`
	Detail   string          `json:"detail,omitempty" doc:"The mistake, and the correct form."`
	Errors   []*problemError `json:"errors,omitempty" doc:"Each thing that is wrong, at most 20."`
	Violated []string        `json:"violated-policies,omitempty" doc:"With 429: the exceeded limits."`
	Outcome  string          `json:"outcome,omitempty" enum:"protocol_error,timeout,refused,invalid_arguments" doc:"For a call: why the tool did not answer."`
	Line     int             `json:"line,omitempty" doc:"Line of the mistake, from 1, if known: for a document that replaces the document of a dead letter."`
	Column   int             `json:"column,omitempty" doc:"The character in the line, from 1."`
}

// problemError is huma.ErrorDetail.
type problemError struct {
	Message  string `json:"message,omitempty" doc:"The mistake."`
	Location string `json:"location,omitempty" format:"json-pointer" doc:"JSON pointer to it in the request: /body/k, /query/limit, /path/id, /header/NAME." example:"/body/filters/kinds/0"`
	Value    any    `json:"value,omitempty" doc:"The value at this place, shortened."`
}

// kind is schema.Kind.
type kind string

// Schema implements huma.SchemaProvider.
func (kind) Schema(r huma.Registry) *huma.Schema {
	return enumeration(r, "Kind", "What an entity is.", schema.KindTool, schema.KindProvider)
}

// feedbackEvent is schema.FeedbackEvent.
type feedbackEvent string

// Schema implements huma.SchemaProvider.
func (feedbackEvent) Schema(r huma.Registry) *huma.Schema {
	return enumeration(r, "FeedbackEvent", "What was done with a result.", schema.FeedbackEvents()...)
}

// enumeration puts the values of a type into the document, once, and refers to them.
func enumeration[T ~string](r huma.Registry, name, description string, values ...T) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: description}
	for _, v := range values {
		s.Enum = append(s.Enum, string(v))
	}
	s.PrecomputeMessages()
	r.Map()[name] = s
	return &huma.Schema{Ref: schemasPrefix + name}
}

// vocabulary holds the comments of package schema by the names of its types.
var vocabulary = readVocabulary()

type typeDoc struct {
	Description string
	Properties  map[string]memberDoc
}

type memberDoc struct {
	Description string
	Enum        []any
}

func readVocabulary() map[string]typeDoc {
	out := map[string]typeDoc{}
	for _, name := range jsonschema.Names() {
		var file struct {
			typeDoc
			Defs map[string]typeDoc `json:"$defs"`
		}
		raw, err := jsonschema.Read(name)
		if err == nil {
			err = json.Unmarshal(raw, &file)
		}
		if err != nil {
			panic(fmt.Sprintf("the JSON schema of %s, which is built in: %v", name, err))
		}
		out[name] = file.typeDoc
		for name, doc := range file.Defs {
			out[name] = doc
		}
	}
	return out
}

// describeTypes adds the comments of the types of package schema to their schemas, embedded types
// included.
func describeTypes(r huma.Registry) {
	for name, s := range r.Map() {
		t := r.TypeFromRef(schemasPrefix + name)
		if t == nil || s.Description != "" {
			continue
		}
		for _, of := range append(embeddedIn(t), t) {
			if of.PkgPath() != typeOf[schema.Kind]().PkgPath() {
				continue
			}
			doc := vocabulary[of.Name()]
			s.Description = doc.Description
			for name, p := range s.Properties {
				doc.Properties[name].describe(p)
			}
		}
	}
}

// embeddedIn returns the types that a struct embeds.
func embeddedIn(t reflect.Type) (out []reflect.Type) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous {
			out = append(out, f.Type)
		}
	}
	return out
}

func (d memberDoc) describe(p *huma.Schema) {
	if p.Description == "" && d.Description != "" {
		p.Description = strings.ToUpper(d.Description[:1]) + d.Description[1:]
	}
	if p.Ref == "" && p.Type == huma.TypeString && len(d.Enum) > 0 {
		p.Enum = slices.DeleteFunc(slices.Clone(d.Enum), func(v any) bool { return v == "" }) // which is not written
		p.PrecomputeMessages()
	}
}
