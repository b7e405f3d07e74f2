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

	"github.com/toolstream/toolstream/internal/stream"
	"github.com/toolstream/toolstream/pkg/events"
)

type (
	// Huma reads parameters from exported fields only, so these two do not embed
	// what they have in common.
	bulkInput struct {
		Stage  string `query:"stage" doc:"Of this stage only."`
		Reason string `query:"reason" doc:"For this reason only."`
		Topic  string `query:"topic" doc:"Of records of this topic only."`
		Cursor string `query:"cursor" doc:"From the call before: go on behind its letters."`
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"Letters to decide about, at most."`
	}
	listInput struct {
		Stage  string `query:"stage" doc:"Of this stage only."`
		Reason string `query:"reason" doc:"For this reason only."`
		Topic  string `query:"topic" doc:"Of records of this topic only."`
		State  string `query:"state" enum:"open,replayed,superseded,dropped,all" default:"open" doc:"In this state."`
		Cursor string `query:"cursor" doc:"From the page before."`
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	}
	idInput struct {
		ID string `path:"id" doc:"The letter's id."`
	}
	listOutput    struct{ Body page }
	showOutput    struct{ Body whole }
	settledOutput struct{ Body Settled }
	bulkOutput    struct{ Body bulk }
)

// page is a part of a list, the newest letters first.
type page struct {
	Letters []Letter `json:"letters"`
	Total   int      `json:"total" doc:"Letters that match, on all pages."`
	Cursor  string   `json:"cursor,omitempty" doc:"Of the next page; absent on the last."`

	Forgotten int `json:"forgotten,omitempty" doc:"Open letters beyond those, matching or not, that there is no memory for: they come once others are closed."`
}

// whole is a letter with what it holds.
type whole struct {
	Letter
	Headers  map[string]string `json:"headers,omitempty" doc:"The record's headers."`
	Original []byte            `json:"original,omitempty" doc:"The record's bytes, in base64; absent once the letter is closed."`
	Text     string            `json:"text,omitempty" doc:"The record's bytes as they are, where they are text."`
}

// bulk is what became of many letters.
type bulk struct {
	Done      int       `json:"done" doc:"Letters that were closed."`
	Failed    []Settled `json:"failed,omitempty" doc:"Letters that are as they were, and why."`
	Remaining int       `json:"remaining" doc:"Open letters that match and were left for the next call."`
	Cursor    string    `json:"cursor,omitempty" doc:"Of the next call, for what was there at the first; absent where nothing remains of it."`
	Forgotten int       `json:"forgotten,omitempty" doc:"Open letters beyond those, matching or not, that there is no memory for: they come once others are closed."`
}

// Routes adds the calls of the box to an API.
func Routes(api huma.API, b *Box) {
	huma.Register(api, operation("list-dead-letters", http.MethodGet, "/v1/dlq", "List what could not be processed"),
		func(ctx context.Context, in *listInput) (*listOutput, error) {
			body, err := b.page(ctx, in)
			return &listOutput{body}, err
		})
	huma.Register(api, operation("show-dead-letter", http.MethodGet, "/v1/dlq/{id}", "Show a dead letter and its record"),
		func(ctx context.Context, in *idInput) (*showOutput, error) {
			l, err := b.Show(ctx, in.ID)
			if err != nil {
				return nil, b.problem(ctx, err)
			}
			return &showOutput{wholeOf(l)}, nil
		})
	huma.Register(api, operation("replay-dead-letter", http.MethodPost, "/v1/dlq/{id}/replay", "Process the record again"), b.one(b.Replay))
	huma.Register(api, operation("drop-dead-letter", http.MethodDelete, "/v1/dlq/{id}", "Give the record up"), b.one(b.Drop))
	huma.Register(api, operation("replay-dead-letters", http.MethodPost, "/v1/dlq:replay", "Process the records of all open letters that match again"), b.many(b.Replay))
	huma.Register(api, operation("drop-dead-letters", http.MethodPost, "/v1/dlq:drop", "Give up the records of all open letters that match"), b.many(b.Drop))
}

func operation(id, method, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		Tags: []string{"dead letters"}, Errors: []int{404, 409, 422, 503},
	}
}

// decision is Replay or Drop.
type decision func(ctx context.Context, ids ...string) ([]Settled, error)

// one answers a decision about one letter.
func (b *Box) one(decide decision) func(context.Context, *idInput) (*settledOutput, error) {
	return func(ctx context.Context, in *idInput) (*settledOutput, error) {
		outcomes, err := decide(ctx, in.ID)
		if err != nil {
			return nil, b.problem(ctx, err)
		}
		o := outcomes[0]
		switch {
		case o.Error != "" && o.State == "":
			return nil, huma.Error404NotFound(fmt.Sprintf("there is no dead letter %q", in.ID))
		case o.Error != "":
			return nil, huma.Error409Conflict(o.Error)
		}
		return &settledOutput{o}, nil
	}
}

// many answers a decision about open letters that match, the oldest first. Calls that
// follow each other by their cursors come to each letter that was there at the first one
// once: what a replay fails at again, or refuses, they do not meet a second time.
func (b *Box) many(decide decision) func(context.Context, *bulkInput) (*bulkOutput, error) {
	return func(ctx context.Context, in *bulkInput) (*bulkOutput, error) {
		letters, forgotten := b.List(ctx, filter(in.Stage, in.Reason, in.Topic, events.LetterOpen)), b.Forgotten(ctx)
		slices.Reverse(letters)
		to, err := span(letters, in.Cursor)
		if err != nil {
			return nil, noCursor(in.Cursor)
		}
		letters = slices.DeleteFunc(letters, func(l Letter) bool { return !to.holds(l) })
		ids := make([]string, min(len(letters), in.Limit))
		for i := range ids {
			ids[i] = letters[i].ID
		}
		outcomes, err := decide(ctx, ids...)
		if err != nil && len(outcomes) == 0 {
			return nil, b.problem(ctx, err)
		}
		out := bulk{Remaining: len(letters) - len(outcomes), Forgotten: forgotten}
		for _, o := range outcomes {
			if o.Error != "" {
				out.Failed = append(out.Failed, o)
				continue
			}
			out.Done++
		}
		if out.Remaining > 0 {
			to.after = furthest(letters[:len(ids)], outcomes)
			out.Cursor = to.String()
		}
		return &bulkOutput{out}, nil
	}
}

// stretch is a part of a list of letters, the oldest first.
type stretch struct {
	after Letter    // it begins behind this one
	until time.Time // when the last of it failed
}

// span reads the cursor of a bulk call; without one it is of all letters.
func span(letters []Letter, cursor string) (stretch, error) {
	var s stretch
	if cursor == "" {
		if len(letters) > 0 {
			s.until = letters[len(letters)-1].Failed
		}
		return s, nil
	}
	until, after, _ := strings.Cut(cursor, ",")
	var errs [2]error
	s.until, errs[0] = time.Parse(time.RFC3339Nano, until)
	s.after, errs[1] = parseCursor(after)
	return s, errors.Join(errs[:]...)
}

func (s stretch) holds(l Letter) bool { return l.compare(s.after) > 0 && !l.Failed.After(s.until) }

func (s stretch) String() string {
	return s.until.UTC().Format(time.RFC3339Nano) + "," + cursor(s.after)
}

// furthest returns the last of the letters up to which all have an outcome: where the bus
// failed, the next call goes on with the first that has none.
func furthest(letters []Letter, outcomes []Settled) Letter {
	settled := map[string]bool{}
	for _, o := range outcomes {
		settled[o.ID] = true
	}
	var last Letter
	for _, l := range letters {
		if !settled[l.ID] {
			break
		}
		last = l
	}
	return last
}

func filter(stage, reason, topic string, state events.LetterState) Filter {
	return Filter{Stage: stage, Reason: reason, Topic: events.Topic(topic), State: state}
}

func noCursor(s string) error {
	return huma.Error422UnprocessableEntity("not a cursor of this list", &huma.ErrorDetail{Location: "query.cursor", Value: s})
}

// page cuts one page out of a list. Its cursor is the id of its last letter:
// the next page begins behind that, whatever came meanwhile.
func (b *Box) page(ctx context.Context, in *listInput) (page, error) {
	state := events.LetterState(in.State)
	if in.State == "all" {
		state = ""
	}
	all := b.List(ctx, filter(in.Stage, in.Reason, in.Topic, state))
	out := page{Letters: []Letter{}, Total: len(all), Forgotten: b.Forgotten(ctx)}
	rest := all
	if in.Cursor != "" {
		after, err := parseCursor(in.Cursor)
		if err != nil {
			return page{}, noCursor(in.Cursor)
		}
		for len(rest) > 0 && rest[0].compare(after) >= 0 {
			rest = rest[1:]
		}
	}
	if len(rest) > in.Limit {
		rest = rest[:in.Limit]
		out.Cursor = cursor(rest[len(rest)-1])
	}
	out.Letters = append(out.Letters, rest...)
	return out, nil
}

// cursor names a place in a list, also of a letter that is gone by then.
func cursor(l Letter) string { return l.Failed.UTC().Format(time.RFC3339Nano) + "," + l.ID }

func parseCursor(s string) (Letter, error) {
	for i := range len(s) {
		if s[i] != ',' {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, s[:i])
		return Letter{Failed: at, ID: s[i+1:]}, err
	}
	return Letter{}, errors.New("no comma")
}

func wholeOf(l events.DeadLetter) whole {
	out := whole{Letter: newLetter(l, 0, 0), Headers: l.Headers, Original: l.Original}
	out.Detail = l.Detail
	if utf8.Valid(l.Original) {
		out.Text = string(l.Original)
	}
	return out
}

// problem turns an error into an answer (RFC 9457).
func (b *Box) problem(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return huma.Error404NotFound("there is no such dead letter")
	case errors.Is(err, stream.ErrFull):
		return huma.NewError(http.StatusInsufficientStorage, "there is no room on the bus")
	}
	b.log.WarnContext(ctx, "dead letters: the bus failed", "error", err)
	return huma.Error503ServiceUnavailable("the bus can not be read or written")
}
