package httpserver

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Parts of the OpenAPI document besides operations and types, and the answers of the middleware
// around every operation.

func about(version string) *huma.Info {
	return &huma.Info{
		Title: "toolstream", Version: version,
		Description: "The streaming index that finds the right tool for an agent among thousands.\n\n" +
			"Errors are `application/problem+json` (RFC 9457); `location` is a JSON pointer to what is wrong in the request: `/body/k`, `/query/limit`, `/path/id`, `/header/NAME`. " +
			"Answers may have more members in later versions.",
		License: &huma.License{Name: "Apache 2.0", Identifier: "Apache-2.0"},
		Contact: &huma.Contact{Name: "toolstream", URL: "https://github.com/toolstream/toolstream"},
	}
}

// described are the tags of operations, in the order of the document.
func described() []*huma.Tag {
	return []*huma.Tag{
		{Name: "search", Description: "Find tools for a query, and report what became of them."},
		{Name: "catalogue", Description: "What is indexed of tools and providers."},
		{Name: "tools", Description: "Add, replace and delete tools."},
		{Name: "providers", Description: "Add, replace and delete what owns tools."},
		{Name: "events", Description: "CloudEvents that bring documents of tools."},
		{Name: "calls", Description: "Call the tools that were found."},
		{Name: "mcp", Description: "What agents see by MCP, at /mcp."},
		{Name: "sources", Description: "MCP servers, OpenAPI documents, registries and gateways that tools are kept in step with."},
		{Name: "registry", Description: "The MCP servers that sources follow, as a registry of MCP servers."},
		{Name: "weights", Description: "The weights by which searches rank, and what is learned."},
		{Name: "quality", Description: "How well searches find the right tools."},
		{Name: "dead letters", Description: "Records that could not be worked on."},
		{Name: "grants", Description: "Who may find and call which tools."},
		{Name: "audit", Description: "Who did what."},
		{Name: "tenants", Description: "Export and erase a tenant."},
		{Name: "operations", Description: "How the deployment is doing."},
		{Name: "session", Description: "Who calls, and how browsers sign in."},
		{Name: "health", Description: "For probes and for Prometheus: outside of the API, without a credential."},
	}
}

// certificate names the client certificate among the authentication schemes.
const certificate = "certificate"

func schemes() map[string]*huma.SecurityScheme {
	return map[string]*huma.SecurityScheme{
		identity.Scheme: {Type: "http", Scheme: identity.Scheme, Description: "A token of the file of tokens, or an access token (JWT) of the identity provider. " +
			"It decides the tenant, the subject and the role. A browser that has signed in sends it as a cookie (/v1/session). An operation names the role that it needs. A server without authentication takes every caller for an admin."},
		certificate: {Type: "mutualTLS", Description: "A client certificate, where the server asks for one. It says who calls as a token does."},
	}
}

// CompleteDocument adds the parts of the document that depend on all operations: the issuer of
// tokens, if any, and the types that may have further members. It must be called after all
// operations are registered.
func CompleteDocument(api huma.API, issuer string) {
	openAnswers(api.OpenAPI())
	if issuer != "" {
		describeProvider(api.OpenAPI(), issuer)
	}
}

// openAnswers permits unknown members in types that only answers use: later versions add some. In
// a request, an unknown member is an error.
func openAnswers(doc *huma.OpenAPI) {
	types, asked := doc.Components.Schemas, map[string]bool{}
	for _, item := range doc.Paths {
		for _, op := range operations(item) {
			if op == nil || op.RequestBody == nil {
				continue
			}
			for _, content := range op.RequestBody.Content {
				addTypes(asked, types, content.Schema)
			}
		}
	}
	for name, s := range types.Map() {
		if !asked[name] && s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
	}
}

// addTypes adds to names every type that a schema refers to.
func addTypes(names map[string]bool, types huma.Registry, s *huma.Schema) {
	if s == nil {
		return
	}
	if name := strings.TrimPrefix(s.Ref, schemasPrefix); name != "" && !names[name] {
		names[name] = true
		addTypes(names, types, types.Map()[name])
	}
	values, _ := s.AdditionalProperties.(*huma.Schema)
	parts := slices.Concat([]*huma.Schema{s.Items, values}, s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.Properties)))
	for _, part := range parts {
		addTypes(names, types, part)
	}
}

func describeProvider(doc *huma.OpenAPI, issuer string) {
	const provider = "provider"
	doc.Components.SecuritySchemes[provider] = &huma.SecurityScheme{
		Type: "openIdConnect", OpenIDConnectURL: strings.TrimSuffix(issuer, "/") + "/.well-known/openid-configuration",
		Description: "The identity provider whose access tokens are taken.",
	}
	for _, item := range doc.Paths {
		for _, op := range operations(item) {
			if op != nil && identity.Needed(op.Security) != "" {
				op.Security = append(op.Security, map[string][]string{provider: {}})
			}
		}
	}
}

// fields are header fields of answers. They are in components, and answers refer to them.
func fields() map[string]*huma.Header {
	text := func(description string) *huma.Header {
		return &huma.Header{Description: description, Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return map[string]*huma.Header{
		"Retry-After":      {Description: "Seconds after which to send again.", Schema: &huma.Schema{Type: huma.TypeInteger}},
		limitField:         text("What is left of each limit that the request is under (draft-ietf-httpapi-ratelimit-headers). Absent where there are no limits."),
		policyField:        text("The limits that the request is under. Absent where there are none."),
		"WWW-Authenticate": text("How to prove who calls (RFC 6750), with the address of the resource's metadata (RFC 9728) where an identity provider is known."),
		TraceHeader:        text("The trace of the request; absent without traces."),
	}
}

func headersOf(names ...string) map[string]*huma.Header {
	out := map[string]*huma.Header{}
	for _, name := range names {
		out[name] = &huma.Header{Ref: "#/components/headers/" + name}
	}
	return out
}

// problems are the error answers of every operation by their status.
var problems = map[int]struct {
	name, description string
	headers           []string
}{
	400: {"BadRequest", "The request is not readable: its JSON, its encoding, its compression.", nil},
	401: {"Unauthorized", "The bearer token or the client certificate is missing or wrong.", []string{"WWW-Authenticate"}},
	403: {"Forbidden", "The caller lacks the role, or may not do this.", nil},
	404: {"NotFound", "There is no such thing, or the caller may not see it.", nil},
	409: {"Conflict", "What is there now is in the way.", nil},
	408: {"RequestTimeout", "The body came too slowly.", nil},
	413: {"ContentTooLarge", "Over a limit of size.", nil},
	415: {"UnsupportedMediaType", "A content type or encoding that is not read.", nil},
	422: {"UnprocessableContent", "Readable but wrong: `location` names the place.", nil},
	429: {"TooManyRequests", "Over a limit of the tenant or of the caller: `violated-policies` names it.", []string{"Retry-After", limitField, policyField}},
	500: {"InternalServerError", "A fault of the server.", nil},
	502: {"BadGateway", "What was asked on behalf of the caller did not answer as it should.", nil},
	503: {"ServiceUnavailable", "A part does not answer at the moment. Sending again does no harm.", []string{"Retry-After"}},
	504: {"GatewayTimeout", "What was asked on behalf of the caller did not answer in time.", nil},
	507: {"InsufficientStorage", "The bus has no room left.", []string{"Retry-After"}},
}

func problemResponses(registry huma.Registry) map[string]*huma.Response {
	content := map[string]*huma.MediaType{problemType: {Schema: registry.Schema(typeOf[huma.ErrorModel](), true, "")}}
	out := map[string]*huma.Response{}
	for _, p := range problems {
		out[p.name] = &huma.Response{Description: p.description, Headers: headersOf(p.headers...), Content: content}
	}
	return out
}

const problemType = "application/problem+json"

// complete adds the effects of the middleware to an operation. Its Errors need to list only the
// statuses that do not follow from its method, its role, its path or its body.
func complete(doc *huma.OpenAPI, op *huma.Operation) {
	statuses := op.Errors
	if role := identity.Needed(op.Security); role != "" {
		op.Description = strings.TrimLeft(op.Description+" Needs the role "+string(role)+".", " ")
		op.Security = []map[string][]string{{identity.Scheme: {string(role)}}, {certificate: {string(role)}}}
		statuses = append(statuses, 401, 403)
	}
	if op.Method != http.MethodGet && op.Method != http.MethodOptions {
		statuses = append(statuses, 403) // a page of another origin
	}
	if perTenant(op.Path) {
		statuses = append(statuses, 422, 429, 500, 503)
	}
	if op.RequestBody != nil {
		statuses = append(statuses, 400, 408, 413, 415)
		describeRaw(op.RequestBody)
	}
	for _, status := range statuses {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Ref: "#/components/responses/" + problems[status].name}
	}
	delete(op.Responses, "default")
	for code, answer := range op.Responses {
		if !strings.HasPrefix(code, "2") || !perTenant(op.Path) {
			continue
		}
		if answer.Headers == nil {
			answer.Headers = map[string]*huma.Header{}
		}
		maps.Copy(answer.Headers, headersOf(limitField, policyField, TraceHeader))
	}
	describeTypes(doc.Components.Schemas)
}

// describeRaw declares that a body a handler reads itself may be anything. It runs after huma has
// looked for bodies to validate.
func describeRaw(body *huma.RequestBody) {
	for media, content := range body.Content {
		switch {
		case content.Schema != nil:
		case strings.HasSuffix(media, "json"):
			content = &huma.MediaType{Schema: &huma.Schema{}}
		default:
			content = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
		}
		body.Content[media] = content
	}
}

// describeOutside adds the paths served outside the API to the document.
func describeOutside(doc *huma.OpenAPI) {
	answer := func(description, media string) *huma.Response {
		s := &huma.Schema{Type: huma.TypeString}
		if strings.HasSuffix(media, "json") {
			s = &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true}
		}
		return &huma.Response{Description: description, Content: map[string]*huma.MediaType{media: {Schema: s}}}
	}
	for _, op := range []huma.Operation{
		{OperationID: "get-liveness", Path: "/healthz", Summary: "Tell whether the process lives", Responses: map[string]*huma.Response{"200": answer("It does.", "text/plain")}},
		{OperationID: "get-readiness", Path: "/readyz", Summary: "Tell whether the process is ready", Errors: []int{503},
			Responses: map[string]*huma.Response{"200": answer("It does.", "text/plain")}},
		{OperationID: "get-metrics", Path: "/metrics", Summary: "Show the metrics of the process", Description: "In the text format of Prometheus, or in OpenMetrics where that is asked for.",
			Responses: map[string]*huma.Response{"200": answer("The metrics.", "text/plain")}},
		{OperationID: "get-document", Path: "/openapi.json", Summary: "Show this document", Description: "Also at /openapi.yaml.",
			Responses: map[string]*huma.Response{"200": answer("This document, of the running version.", "application/openapi+json")}},
		{OperationID: "get-resource-metadata", Path: wellKnown, Summary: "Name the identity provider", Description: "The metadata of a protected resource (RFC 9728); only where there is an identity provider, and below the path of the resource.",
			Errors: []int{404}, Responses: map[string]*huma.Response{"200": answer("The metadata.", "application/json")}},
	} {
		op.Method, op.Tags, op.Security = http.MethodGet, []string{"health"}, identity.ProvenOtherwise()
		doc.AddOperation(&op)
	}
}
