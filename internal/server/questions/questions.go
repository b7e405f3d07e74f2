// Package questions keeps the questions by which a tenant measures its searches, each with
// the tools that answer it, and measures searches by them.
package questions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/internal/relevance"
	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/schema"
)

// KeyPrefix is that of the keys under which the bucket holds the questions of tenants.
const KeyPrefix = "questions."

// Most is how many questions a tenant may have.
const Most = 1000

// maxQuery bounds the words of a question, in bytes.
const maxQuery = 4 << 10

// ErrChanged says that the questions have another version than the one to be replaced.
var ErrChanged = errors.New("the questions were changed meanwhile: read them again")

// Bucket holds the questions of all tenants. Get of what is not there is a stream.ErrNotFound.
type Bucket interface {
	Get(ctx context.Context, key string) (stream.Entry, error)
	Create(ctx context.Context, key string, value []byte) (uint64, error)
	Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error)
	MaxValue() int
}

// Questions are those of a tenant.
type Questions struct {
	Version   string     `json:"version" doc:"Rises with each change; 0: there never were any. A change names the one that it replaces."`
	Questions []Question `json:"questions" nullable:"false" maxItems:"1000" doc:"In the order in which they were sent."`
}

// Question is what somebody asks for, and what answers it.
type Question struct {
	ID        string            `json:"id,omitempty" maxLength:"256" doc:"Unique among the questions of the tenant; where a change leaves it out, it follows from the query."`
	Query     string            `json:"query" minLength:"1" doc:"In words, at most 4 KiB."`
	Arguments map[string]string `json:"arguments,omitempty" doc:"That the caller can provide, name to meaning, as in a search."`
	Relevant  []Relevant        `json:"relevant" nullable:"false" minItems:"1" maxItems:"100" doc:"The tools that are to be found."`
}

// Relevant is a tool that answers a question.
type Relevant struct {
	ID           string   `json:"id" minLength:"1" maxLength:"1024" doc:"Of the tool."`
	Grade        float64  `json:"grade,omitempty" minimum:"0" maximum:"10" doc:"How well it answers, above 0; 1 when absent."`
	Alternatives []string `json:"alternatives,omitempty" nullable:"false" maxItems:"100" doc:"Ids of tools that do in its place, such as copies of other providers."`
}

// normalize checks questions, gives an id to those without one, and puts ids of tools into
// the form in which they are kept. The error is a *schema.Invalid.
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
			return nil, below(path, err)
		}
		if q.ID == "" {
			q.ID = idOf(q)
		}
		if q.ID = norm.NFC.String(q.ID); seen[q.ID] {
			return nil, &schema.Invalid{Path: path + "/id", Value: schema.Quote(q.ID), Reason: "must be that of one question"}
		}
		seen[q.ID] = true
		q.Relevant = slices.Clone(q.Relevant)
		for j := range q.Relevant {
			q.Relevant[j] = q.Relevant[j].normalize()
		}
	}
	return out, nil
}

func (r Relevant) normalize() Relevant {
	r.ID = norm.NFC.String(r.ID)
	if r.Grade == 0 {
		r.Grade = 1
	}
	r.Alternatives = slices.Clone(r.Alternatives)
	for i, id := range r.Alternatives {
		r.Alternatives[i] = norm.NFC.String(id)
	}
	return r
}

// idOf returns the id of a question that was given none: the same question has the same.
func idOf(q *Question) string {
	text, _ := json.Marshal([]any{q.Query, q.Arguments}) // texts always encode
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}

// below returns an error of a part of the request with its place in the whole.
func below(path string, err error) error {
	if invalid := (*schema.Invalid)(nil); errors.As(err, &invalid) {
		return &schema.Invalid{Path: path + invalid.Path, Value: invalid.Value, Reason: invalid.Reason}
	}
	return err
}

// judgments returns what a ranking for the question should hold.
func (q *Question) judgments() *relevance.Judgments {
	labels := make([]relevance.Label, len(q.Relevant))
	for i, r := range q.Relevant {
		labels[i] = relevance.Label{ID: r.ID, Relevance: r.Grade, Alternatives: r.Alternatives}
	}
	return relevance.JudgeTools(labels)
}

// of returns the questions of a tenant.
func (a *API) of(ctx context.Context, tenant string) (Questions, error) {
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

// store makes the questions those of a tenant, if they still have the version that they
// replace. The error is a *schema.Invalid, ErrChanged, or that of the bucket.
func (a *API) store(ctx context.Context, tenant string, q Questions) (Questions, error) {
	var err error
	if q.Questions, err = normalize(q.Questions); err != nil {
		return q, err
	}
	before, err := strconv.ParseUint(q.Version, 10, 64)
	if err != nil {
		return q, &schema.Invalid{Path: "/version", Value: schema.Quote(q.Version), Reason: "must be the version of the questions that the change is of"}
	}
	value, err := json.Marshal(q.Questions)
	if err != nil {
		return q, err
	}
	if most := a.Bucket.MaxValue(); len(value) > most {
		return q, &schema.Invalid{Path: "/questions", Reason: fmt.Sprintf("are %d bytes, and the store takes %d at most", len(value), most)}
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
