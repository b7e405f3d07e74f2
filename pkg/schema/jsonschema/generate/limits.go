package main

import (
	"reflect"

	"github.com/toolstream/toolstream/pkg/schema"
)

// values lists the values of a string type that has few.
func values(t reflect.Type) []any {
	switch t {
	case reflect.TypeFor[schema.Kind]():
		return []any{schema.KindTool, schema.KindProvider}
	case reflect.TypeFor[schema.Rank]():
		return []any{schema.RankTools, schema.RankProviders, schema.RankAuto}
	case reflect.TypeFor[schema.Rewrite]():
		return []any{schema.RewriteAuto, schema.RewriteOff, schema.RewriteLLM, schema.RewriteCache, schema.RewriteGiven, schema.RewriteFallback}
	case reflect.TypeFor[schema.Rerank]():
		return []any{schema.RerankOff, schema.RerankSingle, schema.RerankMulti, schema.RerankAuto}
	case reflect.TypeFor[schema.Include]():
		return []any{schema.IncludeSchema, schema.IncludeOutputSchema, schema.IncludeExamples, schema.IncludeParameters, schema.IncludeSignature}
	case reflect.TypeFor[schema.Form]():
		return []any{schema.FormMCP, schema.FormOpenAI, schema.FormAnthropic, schema.FormToolReference, schema.FormToolSearchOutput}
	case reflect.TypeFor[schema.Quality]():
		return []any{schema.QualityGood, schema.QualityLow}
	case reflect.TypeFor[schema.Fallback]():
		return []any{"", schema.FallbackPending, schema.FallbackUngrounded,
			schema.FallbackMalformed, schema.FallbackDeclined, schema.FallbackQuarantined}
	case reflect.TypeFor[schema.Reason]():
		return anys(schema.Reasons())
	case reflect.TypeFor[schema.FeedbackEvent]():
		return anys(schema.FeedbackEvents())
	}
	return nil
}

func anys[T any](values []T) (out []any) {
	for _, v := range values {
		out = append(out, v)
	}
	return out
}

// strict reports whether unknown members of a type are an error.
func strict(name string) bool {
	return name == "SearchRequest" || name == "CallRequest" || name == "Filters" || name == "Need"
}

// optional names the fields that may be absent although they are always
// written.
func optional(field string) bool {
	switch field {
	case "SearchRequest.Query", // with needs
		"SearchRequest.Filters",
		"Feedback.Time": // set at acceptance
		return true
	}
	return false
}

// limits returns the constraints of a field beyond its type. Lengths are counted
// in characters here and in bytes by the checks, so these never refuse more.
func limits(field string) object {
	id := object{"minLength": 1, "maxLength": schema.MaxID}
	switch field {
	case "Ref.ID", "Feedback.SearchID", "Feedback.ToolID":
		return id
	case "Ref.Tenant", "Feedback.Tenant", "Usage.Tenant", "Impression.Tenant":
		return object{"pattern": "^[a-z0-9][a-z0-9_-]{0,62}$"}
	case "Feedback.ID":
		return object{"maxLength": schema.MaxFeedbackID}
	case "SearchRequest.Query":
		return object{"maxLength": schema.MaxQuery}
	case "SearchRequest.K":
		return object{"minimum": 0, "default": schema.DefaultK}
	case "SearchRequest.Rank":
		return object{"default": schema.RankTools}
	case "SearchRequest.Rewrite":
		return object{"enum": []any{schema.RewriteAuto, schema.RewriteOff}, "default": schema.RewriteAuto}
	case "Chosen.Rank":
		return object{"enum": []any{schema.RankTools, schema.RankProviders}}
	case "SearchResponse.Reranked":
		return object{"enum": []any{schema.RerankSingle, schema.RerankMulti}}
	case "SearchRequest.Needs", "SearchRequest.Steps":
		return object{"maxItems": schema.MaxNeeds}
	case "SearchRequest.Arguments":
		return object{"maxProperties": schema.MaxArguments}
	case "CallResult.Outcome":
		return object{"enum": []any{schema.CallOK, schema.CallToolError, schema.CallInputRequired}}
	case "CallRequest.Session", "CallRequest.IdempotencyKey":
		return object{"maxLength": schema.MaxClient}
	case "Wanted.CallID":
		return object{"maxLength": schema.MaxCallID}
	case "Wanted.TokenBudget":
		return object{"minimum": 0, "maximum": schema.MaxTokenBudget}
	case "Need.UserIntent", "Need.ToolDescription", "Need.ExpectedResponse":
		return object{"maxLength": schema.MaxNeedText}
	case "Filters.Providers", "Filters.Tags", "Filters.IDs", "Filters.Kinds":
		return object{"maxItems": schema.MaxFilters}
	}
	return documentLimits(field)
}

// documentLimits returns the limits of documents and of learned data.
func documentLimits(field string) object {
	switch field {
	case "Document.Name":
		return object{"minLength": 1, "maxLength": schema.MaxName}
	case "Parameter.Name":
		return object{"minLength": 1, "maxLength": schema.MaxName}
	case "Document.Title", "Parameter.Type":
		return object{"maxLength": schema.MaxName}
	case "Document.Description", "Document.Response":
		return object{"maxLength": schema.MaxDescription}
	case "Document.Tags":
		return object{"maxItems": schema.MaxTags}
	case "Document.Parameters":
		return object{"maxItems": schema.MaxParameters}
	case "Document.Examples":
		return object{"maxItems": schema.MaxExamples}
	case "Document.Flags":
		return object{"maxItems": schema.MaxFlags}
	case "Parameter.Description", "Parameter.Default", "Parameter.Example":
		return object{"maxLength": schema.MaxParameterText}
	case "Parameter.Enum":
		return object{"maxItems": schema.MaxEnum}
	case "Weights.Tau":
		return object{"minimum": 0, "maximum": 1}
	case "Weights.Alpha", "Weights.Required", "Weights.Optional":
		return object{"exclusiveMinimum": 0, "maximum": schema.MaxWeight}
	case "Weights.Version":
		return object{"minLength": 1}
	case "Weights.Hash":
		return object{"pattern": "^([0-9a-f]{64})?$"}
	case "Usage.Model", "Impression.Model", "Origin.Model":
		return object{"maxLength": schema.MaxModel}
	case "Origin.Refused":
		return object{"maxLength": schema.MaxRefused}
	case "Origin.Violations":
		return object{"maxItems": schema.MaxViolations}
	case "Result.Similarity":
		return object{"minimum": -1, "maximum": 1}
	}
	return nil
}
