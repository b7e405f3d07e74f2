// Package httpserver is the HTTP side of a process: the API that services add their
// operations to, the middleware around it, and the server.
package httpserver

import (
	"encoding/json"
	"io"
	"math"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// NewAPI returns the HTTP API that the services add their operations to, and its mux.
func NewAPI(version string) (huma.API, *Mux) {
	mux := NewMux()
	conf := huma.DefaultConfig("toolstream", version)
	types := newTypes()
	conf.OpenAPI = &huma.OpenAPI{
		OpenAPI: "3.1.0", Info: about(version), Tags: described(),
		Servers:    []*huma.Server{{URL: "/", Description: "The server that answers with this document."}},
		Components: &huma.Components{Schemas: types, Responses: problemResponses(types), Headers: fields(), SecuritySchemes: schemes()},
	}
	strict := huma.Format{Marshal: marshal, Unmarshal: unmarshalStrictly}
	conf.Formats = map[string]huma.Format{
		"application/json":                  strict,
		"json":                              strict, // of +json
		"application/x-www-form-urlencoded": strict, // the content type of curl -d
	}
	conf.Transformers = append(conf.Transformers, boundProblem, pointLocations)
	conf.DocsPath = ""     // the page would load a script from elsewhere
	conf.CreateHooks = nil // no $schema member in every answer
	conf.OnAddOperation = append(conf.OnAddOperation, refuseUnknownParameters, complete)
	api := humago.New(mux, conf)
	api.UseMiddleware(admitChanges(api), requireRole(api), watchBody)
	return api, mux
}

// marshal writes an answer, in the answer's own way if it has one.
func marshal(w io.Writer, v any) error {
	if own, ok := v.(interface{ WriteJSON(w io.Writer) error }); ok {
		return own.WriteJSON(w)
	}
	return huma.DefaultJSONFormat.Marshal(w, v)
}

// bodyLimits leaves the size of a body to its operation. The number of values
// stays bounded: each may be an error.
var bodyLimits = jsondoc.Limits{Bytes: math.MaxInt}

// unmarshalStrictly refuses invalid UTF-8 and repeated keys, which the standard
// decoder accepts, and names the place.
func unmarshalStrictly(data []byte, v any) error {
	if _, err := jsondoc.Decode(data, bodyLimits); err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return err
	}
	if validated, ok := v.(*any); ok { // huma validates this value, and reads the body into its type after that
		plainNames(*validated)
	}
	return nil
}

// plainNames takes dots and brackets out of the names of members. Huma's path of an error
// takes them for its own separators: it grows with each such member, and every error
// copies it.
func plainNames(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			plainNames(item)
		}
	case map[string]any:
		for name, member := range v {
			plainNames(member)
			if plain := pathSeparators.Replace(name); plain != name {
				delete(v, name)
				v[plain] = member
			}
		}
	}
}

var pathSeparators = strings.NewReplacer(".", "․", "[", "［", "]", "］") // one dot leader, fullwidth brackets

// refuseUnknownParameters makes a mistyped query parameter fail with its name. It spares
// operations whose clients send more parameters: event senders keep the ones in the address they
// were given, registry readers use the ones of other registries, and identity providers add their
// own.
func refuseUnknownParameters(_ *huma.OpenAPI, op *huma.Operation) {
	op.RejectUnknownQueryParameters = op.OperationID != "receive-events" && op.OperationID != callbackID && !strings.HasPrefix(op.Path, RegistryPath)
}
