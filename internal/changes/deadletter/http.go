package deadletter

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/bus/stream"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Filter chooses dead letters. Empty fields choose all.
type Filter struct {
	Stage  string `query:"stage" doc:"Only of this stage."`
	Reason string `query:"reason" doc:"Only with this reason."`
	Topic  string `query:"topic" doc:"Only records of this topic."`
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
}

func (f Filter) matches(l *Letter) bool {
	return (f.Stage == "" || f.Stage == l.Stage) && (f.Reason == "" || f.Reason == l.Reason) && (f.Topic == "" || f.Topic == string(l.Topic))
}

type (
	listInput struct {
		Filter
		State string `query:"state" enum:"open,replayed,superseded,dropped,all" default:"open" doc:"open (default), replayed, superseded, dropped or all."`
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Entries on a page: 1 to 1000, 100 by default."`
	}
	bulkInput struct {
		Filter
		Limit int `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"Letters in one call: 1 to 1000, 1000 by default."`
	}
	idInput struct {
		ID string `path:"id" doc:"The letter's id."`
	}
	replayInput struct {
		ID   string `path:"id" doc:"The letter's id."`
		Body *edited
	}
	listOutput     struct{ Body page }
	showOutput     struct{ Body whole }
	decisionOutput struct{ Body Decision }
	bulkOutput     struct{ Body bulk }
)

// edited is the body of a replay with another document.
type edited struct {
	Document string `json:"document" minLength:"1" doc:"The new document, in the form of document in the letter."`
}

// maxEdited bounds a request with an edited document, in bytes: its JSON text is longer than
// the document.
const maxEdited = 8 << 20

// page is a part of a list, the newest letters first.
type page struct {
	Letters []Letter `json:"letters" doc:"The newest first."`
	Total   int      `json:"total" doc:"Letters that match, on all pages."`
	Cursor  string   `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last."`

	Forgotten int `json:"forgotten,omitempty" doc:"Further open letters, matching or not, that do not fit into memory: they appear once others are closed."`

	Reasons []reasonCount `json:"reasons" nullable:"false" doc:"All open letters by reason and stage, whatever matches: the most first."`
}

// reasonCount counts the open letters of a reason.
type reasonCount struct {
	Reason string `json:"reason"`
	Stage  string `json:"stage"`
	Open   int    `json:"open" doc:"How many there are."`
}

// whole is a letter with its record.
type whole struct {
	Letter
	Contents
	Headers  map[string]string `json:"headers,omitempty" doc:"The record's headers."`
	Original []byte            `json:"original,omitempty" doc:"The record's bytes, in base64; absent once the letter is closed."`
	Text     string            `json:"text,omitempty" doc:"The record's bytes, if they are text."`
}

// bulk is the result for many letters.
type bulk struct {
	Done      int        `json:"done" doc:"Letters that were closed."`
	Failed    []Decision `json:"failed,omitempty" doc:"Letters that are as they were, and why."`
	Remaining int        `json:"remaining" doc:"Open letters that match and were left for the next call."`
	Cursor    string     `json:"cursor,omitempty" doc:"Cursor of the next call, for the letters that were open at the first call; absent after the last of them."`
	Forgotten int        `json:"forgotten,omitempty" doc:"Further open letters, matching or not, that do not fit into memory: they appear once others are closed."`
}

// Routes adds the calls of the store to an API. Edited documents go to the editor.
func Routes(api huma.API, s *Store, e Editor) {
	operation := func(id, method, path, summary string) huma.Operation {
		return huma.Operation{
			OperationID: id, Security: identity.Needs(identity.Operator), Method: method, Path: path, Summary: summary,
			Tags: []string{"dead letters"}, Errors: []int{404, 409},
		}
	}
	huma.Register(api, operation("list-dead-letters", http.MethodGet, "/v1/dlq", "List dead letters, newest first"), s.page)
	huma.Register(api, operation("get-dead-letter", http.MethodGet, "/v1/dlq/{id}", "Show a dead letter and its record"), s.show)
	replay := operation("replay-dead-letter", http.MethodPost, "/v1/dlq/{id}/replay", "Replay the record, or an edited document in its place")
	replay.Description = "Without a body the record is processed again as it is. With a document that is accepted as a new change of the same tool or provider, " +
		"by the checks of PUT /v1/tools/{id}; a refused document leaves the letter open. If something newer is known, the letter is closed as superseded, and nothing is replayed."
	replay.MaxBodyBytes, replay.Errors = maxEdited, append(replay.Errors, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusInsufficientStorage)
	huma.Register(api, replay, func(ctx context.Context, in *replayInput) (*decisionOutput, error) {
		return s.decision(ctx, in.ID, func(ctx context.Context) (Decision, error) {
			if in.Body != nil {
				return s.ReplayEdited(ctx, e, in.ID, in.Body.Document)
			}
			return only(s.Replay(ctx, in.ID))
		})
	})
	huma.Register(api, operation("drop-dead-letter", http.MethodDelete, "/v1/dlq/{id}", "Drop the record"), func(ctx context.Context, in *idInput) (*decisionOutput, error) {
		return s.decision(ctx, in.ID, func(ctx context.Context) (Decision, error) { return only(s.Drop(ctx, in.ID)) })
	})
	huma.Register(api, operation("replay-dead-letters", http.MethodPost, "/v1/dlq:replay", "Replay all open dead letters that match"), s.decideMatching(s.Replay))
	huma.Register(api, operation("drop-dead-letters", http.MethodPost, "/v1/dlq:drop", "Drop all open dead letters that match"), s.decideMatching(s.Drop))
}

// page answers one page of a list. Its cursor names its last letter: the next page begins after
// it, regardless of new letters.
func (s *Store) page(ctx context.Context, in *listInput) (*listOutput, error) {
	before, err := parseCursor(in.Cursor)
	if err != nil {
		return nil, badCursor(in.Cursor)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := identity.From(ctx).Tenant
	out := page{Letters: []Letter{}, Forgotten: s.letters.tenant(owner).forgotten, Reasons: s.letters.reasons(owner)}
	for _, l := range slices.Backward(s.letters.ordered(owner)) {
		if !in.matches(l) || in.State != "all" && in.State != string(l.State) {
			continue
		}
		out.Total++
		if in.Cursor != "" && l.compare(before) >= 0 {
			continue
		}
		if len(out.Letters) < in.Limit {
			out.Letters = append(out.Letters, *l)
		} else if out.Cursor == "" {
			out.Cursor = cursor(out.Letters[in.Limit-1])
		}
	}
	return &listOutput{out}, nil
}

func (s *Store) show(ctx context.Context, in *idInput) (*showOutput, error) {
	l, err := s.Show(ctx, in.ID)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	out := whole{Letter: newLetter(l, 0, 0), Contents: contentsOf(l), Headers: l.Headers, Original: l.Original}
	out.Detail = l.Detail
	if utf8.Valid(l.Original) {
		out.Text = string(l.Original)
	}
	return &showOutput{out}, nil
}

// decide is Replay or Drop.
type decide func(ctx context.Context, ids ...string) ([]Decision, error)

// only returns the decision about a single letter.
func only(all []Decision, err error) (Decision, error) {
	if err != nil {
		return Decision{}, err
	}
	return all[0], nil
}

// decision answers with a decision about a letter.
func (s *Store) decision(ctx context.Context, id string, decide func(context.Context) (Decision, error)) (*decisionOutput, error) {
	switch d, err := decide(ctx); {
	case err != nil:
		return nil, s.problem(ctx, err)
	case d.Error != "" && d.State == "":
		return nil, huma.Error404NotFound(fmt.Sprintf("there is no dead letter %q", id))
	case d.Error != "":
		return nil, huma.Error409Conflict(d.Error)
	default:
		return &decisionOutput{d}, nil
	}
}

// decideMatching answers with decisions about open letters that match, the oldest first. Calls that
// follow each other by their cursors come to each letter that was there at the first
// call once: they do not meet again a letter that was refused, or whose record failed
// again. A cursor is the time of the newest letter at the first call, and the last
// letter of the call before.
func (s *Store) decideMatching(decide decide) func(context.Context, *bulkInput) (*bulkOutput, error) {
	return func(ctx context.Context, in *bulkInput) (*bulkOutput, error) {
		limit, rest, _ := strings.Cut(in.Cursor, ",")
		after, err := parseCursor(rest)
		var until time.Time
		if in.Cursor != "" && err == nil {
			until, err = time.Parse(time.RFC3339Nano, limit)
		}
		if err != nil {
			return nil, badCursor(in.Cursor)
		}
		letters, forgotten := s.openBetween(ctx, in.Filter, after, until)
		ids := make([]string, min(len(letters), in.Limit))
		for i := range ids {
			ids[i] = letters[i].ID
		}
		decisions, err := decide(ctx, ids...)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		out := bulk{Remaining: len(letters) - len(ids), Forgotten: forgotten}
		for _, d := range decisions {
			if d.Error != "" {
				out.Failed = append(out.Failed, d)
				continue
			}
			out.Done++
		}
		if out.Remaining > 0 {
			if in.Cursor == "" {
				until = letters[len(letters)-1].Failed
			}
			out.Cursor = until.UTC().Format(time.RFC3339Nano) + "," + cursor(letters[len(ids)-1])
		}
		return &bulkOutput{out}, nil
	}
}

// openBetween returns the open letters that match, the oldest first, up to a time if
// that is not zero, and the number of forgotten ones.
func (s *Store) openBetween(ctx context.Context, f Filter, after Letter, until time.Time) (found []Letter, forgotten int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	owner := identity.From(ctx).Tenant
	for _, l := range s.letters.ordered(owner) {
		if l.open() && f.matches(l) && l.compare(after) > 0 && (until.IsZero() || !l.Failed.After(until)) {
			found = append(found, *l)
		}
	}
	return found, s.letters.tenant(owner).forgotten
}

func badCursor(s string) error {
	return huma.Error422UnprocessableEntity("not a cursor of this list", &huma.ErrorDetail{Location: "/query/cursor", Value: s})
}

// cursor names a place in a list, which stays when its letter is gone.
func cursor(l Letter) string { return l.Failed.UTC().Format(time.RFC3339Nano) + "," + l.ID }

// parseCursor returns the place that a cursor names, or the first place.
func parseCursor(s string) (at Letter, err error) {
	if s == "" {
		return at, nil
	}
	failed, id, _ := strings.Cut(s, ",")
	at.ID = id
	at.Failed, err = time.Parse(time.RFC3339Nano, failed)
	return at, err
}

// problem turns an error into an answer (RFC 9457).
func (s *Store) problem(ctx context.Context, err error) error {
	if answer := huma.StatusError(nil); errors.As(err, &answer) { // of the editor
		return err
	}
	switch {
	case errors.Is(err, ErrNotFound):
		return huma.Error404NotFound("there is no such dead letter")
	case errors.Is(err, stream.ErrFull):
		return huma.NewError(http.StatusInsufficientStorage, "there is no room on the bus")
	}
	s.log.WarnContext(ctx, "dead letters: the bus failed", "error", err)
	return huma.Error503ServiceUnavailable("the bus cannot be read or written")
}
