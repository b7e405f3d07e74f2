package telemetry

import "go.opentelemetry.io/otel/attribute"

// Attributes of spans, in addition to OpenTelemetry's general conventions. The names with
// gen_ai follow its conventions for language models, which its Go packages no longer include.
const (
	Stage   = attribute.Key("toolstream.stage")   // of the pipeline
	Records = attribute.Key("toolstream.records") // of a batch that the span is about
	Tenant  = attribute.Key("toolstream.tenant")

	Items    = attribute.Key("toolstream.items")    // that were sent
	Accepted = attribute.Key("toolstream.accepted") // of them
	Rejected = attribute.Key("toolstream.rejected") // of them
	Outcome  = attribute.Key("toolstream.outcome")  // of an event

	Search      = attribute.Key("toolstream.search.id")
	Rank        = attribute.Key("toolstream.search.rank")
	K           = attribute.Key("toolstream.search.k")
	QueryLength = attribute.Key("toolstream.search.query_length") // in bytes
	Rewrite     = attribute.Key("toolstream.search.rewrite")
	Reranked    = attribute.Key("toolstream.search.reranked")
	Weights     = attribute.Key("toolstream.search.weights")
	Degraded    = attribute.Key("toolstream.search.degraded")
	Results     = attribute.Key("toolstream.search.results")
	Candidates  = attribute.Key("toolstream.candidates")
	Texts       = attribute.Key("toolstream.texts")
	Field       = attribute.Key("toolstream.field") // of a document, whose vectors are searched

	Operation    = attribute.Key("gen_ai.operation.name")
	Model        = attribute.Key("gen_ai.request.model")
	InputTokens  = attribute.Key("gen_ai.usage.input_tokens")
	OutputTokens = attribute.Key("gen_ai.usage.output_tokens")
)
