// Package questions keeps the test questions of a tenant, each with the tools that answer it, and
// evaluates searches with them.
package questions

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/pkg/schema"
)

// KeyPrefix begins the keys of questions in the bucket; the tenant follows.
const KeyPrefix = "questions."

// Most bounds the questions of a tenant.
const Most = 1000

// maxQuery bounds a query, in bytes.
const maxQuery = 4 << 10

// ErrChanged reports that the questions have another version than the change is based on.
var ErrChanged = errors.New("the questions were changed meanwhile: read them again")

// Bucket has the questions of all tenants. Get fails with stream.ErrNotFound for a missing key.
type Bucket interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	MaxValue() int
}

// Questions are the questions of a tenant.
type Questions struct {
	Version   string     `json:"version" doc:"Rises with each change, from 0 for a tenant without questions. A change names the version that it replaces."`
	Questions []Question `json:"questions" nullable:"false" maxItems:"1000" doc:"Questions in the order of the request."`
}

// Question is a query and the tools that answer it.
type Question struct {
	ID        string            `json:"id,omitempty" maxLength:"256" doc:"Unique for the tenant; derived from the query if absent in a change."`
	Query     string            `json:"query" minLength:"1" doc:"Query in words, at most 4 KiB."`
	Arguments map[string]string `json:"arguments,omitempty" doc:"Arguments that the caller can provide, name to meaning, as in a search."`
	Relevant  []Relevant        `json:"relevant" nullable:"false" minItems:"1" maxItems:"100" doc:"Tools that a search should find."`
}

// Relevant is a tool that answers a question.
type Relevant struct {
	ID           string   `json:"id" minLength:"1" maxLength:"1024" doc:"Id of the tool."`
	Grade        float64  `json:"grade,omitempty" minimum:"0" maximum:"10" doc:"How well the tool answers, above 0; 1 if absent."`
	Alternatives []string `json:"alternatives,omitempty" nullable:"false" maxItems:"100" doc:"Ids of tools that are as good, such as copies by other providers."`
}

// normalize validates questions, adds missing ids and normalizes the ids of tools. The error is a
// *schema.Invalid.
func normalize(questions []Question) ([]Question, error) {
	out := slices.Clone(questions)
	seen := map[string]bool{}
	for i := range out {
		q, path := &out[i], fmt.Sprintf("/questions/%d", i)
		if len(q.Query) > maxQuery {
			return nil, &schema.Invalid{Path: path + "/query", Reason: fmt.Sprintf("must be at most %d bytes, not %d", maxQuery, len(q.Query))}
		}
		req := schema.SearchRequest{Query: q.Query, Arguments: q.Arguments}
		if _, err := req.Normalize(); err != nil {
			return nil, within(path, err)
		}
		if q.ID == "" {
			text, _ := json.Marshal([]any{q.Query, q.Arguments}) // texts always encode
			sum := sha256.Sum256(text)
			q.ID = hex.EncodeToString(sum[:6])
		}
		if q.ID = norm.NFC.String(q.ID); seen[q.ID] {
			return nil, &schema.Invalid{Path: path + "/id", Value: schema.Quote(q.ID), Reason: "must be unique"}
		}
		seen[q.ID] = true
		q.Relevant = slices.Clone(q.Relevant)
		for j := range q.Relevant {
			r := &q.Relevant[j]
			r.ID, r.Grade = norm.NFC.String(r.ID), cmp.Or(r.Grade, 1)
			r.Alternatives = slices.Clone(r.Alternatives)
			for k, id := range r.Alternatives {
				r.Alternatives[k] = norm.NFC.String(id)
			}
		}
	}
	return out, nil
}

// within returns an error about a part of the request as an error about the whole request.
func within(path string, err error) error {
	if invalid := (*schema.Invalid)(nil); errors.As(err, &invalid) {
		return &schema.Invalid{Path: path + invalid.Path, Value: invalid.Value, Reason: invalid.Reason}
	}
	return err
}

// load returns the questions of a tenant.
func (a *API) load(ctx context.Context, tenant string) (Questions, error) {
	out := Questions{Version: "0", Questions: []Question{}}
	e, err := a.Bucket.Get(ctx, KeyPrefix+tenant)
	if errors.Is(err, stream.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	out.Version = strconv.FormatUint(e.Revision, 10)
	return out, json.Unmarshal(e.Value, &out.Questions)
}

// replace replaces the questions of a tenant, unless they have changed since the version of q.
// The error is a *schema.Invalid, ErrChanged, or an error of the bucket.
func (a *API) replace(ctx context.Context, tenant string, q Questions) (Questions, error) {
	var err error
	if q.Questions, err = normalize(q.Questions); err != nil {
		return q, err
	}
	before, err := strconv.ParseUint(q.Version, 10, 64)
	if err != nil {
		return q, &schema.Invalid{Path: "/version", Value: schema.Quote(q.Version), Reason: "must be the version of the questions to be replaced"}
	}
	value, err := json.Marshal(q.Questions)
	if err != nil {
		return q, err
	}
	if most := a.Bucket.MaxValue(); len(value) > most {
		return q, &schema.Invalid{Path: "/questions", Reason: fmt.Sprintf("are %d bytes, more than the %d that the store takes", len(value), most)}
	}
	var revision uint64
	if before == 0 {
		revision, err = a.Bucket.Create(ctx, KeyPrefix+tenant, value)
	} else {
		revision, err = a.Bucket.Update(ctx, KeyPrefix+tenant, value, before)
	}
	if errors.Is(err, stream.ErrConflict) {
		return q, ErrChanged
	}
	q.Version = strconv.FormatUint(revision, 10)
	return q, err
}
