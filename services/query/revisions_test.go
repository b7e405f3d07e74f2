package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/toolstream/toolstream/internal/identity"
	"github.com/toolstream/toolstream/internal/policy"
	"github.com/toolstream/toolstream/internal/revisions"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
)

// fakeRevisions are the changes of entities, and how often somebody asked.
type fakeRevisions struct {
	of    map[schema.Ref][]events.Change
	err   error
	asked int
}

func (f *fakeRevisions) Of(_ context.Context, ref schema.Ref) ([]events.Change, error) {
	f.asked++
	return slices.Clone(f.of[ref]), f.err
}

// told is a change whose raw document is the document; "" is a delete.
func told(ref schema.Ref, revision uint64, document string) events.Change {
	c := events.Change{Ref: ref, Version: schema.Version{Revision: revision}, Op: events.OpUpsert, Provider: "p", Hash: fmt.Sprint(revision), Raw: json.RawMessage(document)}
	if document == "" {
		return events.Change{Ref: ref, Version: c.Version, Op: events.OpDelete}
	}
	return c
}

// newRevisionsBench returns a bench with a tool that was secret, and deleted, and one that is
// secret, and one that is deleted.
func newRevisionsBench(t *testing.T) (*bench, *fakeRevisions) {
	t.Helper()
	b := newBench(t, tool("a/1", "p", 1), tool("secret", "p", 1))
	a, secret, gone := refOf(testTenant, schema.KindTool, "a/1"), refOf(testTenant, schema.KindTool, "secret"), refOf(testTenant, schema.KindTool, "gone")
	f := &fakeRevisions{of: map[schema.Ref][]events.Change{
		a: {
			told(a, 1, `{"name":"n","description":"old","tags":["secret"]}`), told(a, 2, ""),
			told(a, 3, `{"name":"n","description":"one"}`), told(a, 4, ""), told(a, 5, `{"name":"n","description":"two","response":"r"}`), told(a, 6, `null`),
			told(a, 7, `{"name":"n","description":"new"}`),
		},
		secret: {told(secret, 1, `{"name":"n"}`)},
		gone:   {told(gone, 1, `{"name":"n"}`), told(gone, 2, "")},
	}}
	b.catalogue.deleted = map[schema.Ref]schema.Version{gone: {Revision: 2}}
	for ref, d := range map[schema.Ref]schema.Document{a: {Name: "n", Description: "new"}, secret: {Name: "n", Tags: []string{"secret"}}} {
		e := b.catalogue.entities[ref]
		e.Document, e.Revision, e.Hash = d, 7, "7"
		b.catalogue.entities[ref] = e
	}
	b.deps.Revisions = f
	b.deps.Standardize = func(_ context.Context, c *events.Change) error {
		if string(c.Raw) == "null" {
			return errors.New("no document")
		}
		return json.Unmarshal(c.Raw, &c.Document)
	}
	path := filepath.Join(t.TempDir(), "policy.yaml")
	text := "default:\n" +
		"  - {effect: allow, action: find, on: '*', to: '*'}\n" +
		"  - {effect: deny, action: find, on: 'tag:secret', to: 'group:guests'}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.deps.Policy, err = policy.OpenFile(path, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return b, f
}

var aGuest = identity.Caller{Tenant: testTenant, Groups: []string{"guests"}, Role: identity.Reader}

// lines returns the revisions of a tool as a caller sees them, or the status.
func lines(t *testing.T, b *bench, caller identity.Caller, id string) string {
	t.Helper()
	h, err := b.history(identity.With(t.Context(), caller), refOf(testTenant, schema.KindTool, id))
	if err != nil {
		return statusOf(t, err)
	}
	var out []string
	for _, r := range h.list() {
		line := fmt.Sprintf("%s%d%v", r.Op, r.Revision, r.Changed)
		if r.Current {
			line += "!"
		}
		out = append(out, line)
	}
	return strings.Join(out, " ")
}

func statusOf(t *testing.T, err error) string {
	t.Helper()
	var status huma.StatusError
	if !errors.As(err, &status) {
		t.Fatal(err)
	}
	return fmt.Sprint(status.GetStatus(), " ", status.Error())
}

// A caller sees the changes that it may find, each against the document before it that it may
// find; and what is hidden from it answers as what is not there, without a look at its changes.
func TestRevisionsAreThoseThatACallerMayFind(t *testing.T) {
	b, f := newRevisionsBench(t)
	all := "put7[description response]! put5[description response] delete4[] put3[description tags] delete2[] put1[]"
	if got := lines(t, b, aReader, "a/1"); got != all {
		t.Errorf("a reader sees %s", got)
	}
	if got, want := lines(t, b, aGuest, "a/1"), "put7[description response]! put5[description response] delete4[] put3[]"; got != want {
		t.Errorf("a guest sees %s, want %s", got, want)
	}
	f.asked = 0
	absent, hidden, deleted := lines(t, b, aGuest, "absent"), lines(t, b, aGuest, "secret"), lines(t, b, aReader, "gone")
	if absent != `404 there is no tool "absent"` || hidden != strings.Replace(absent, "absent", "secret", 1) || deleted != strings.Replace(absent, "absent", "gone", 1) || f.asked != 0 {
		t.Errorf("%s, %s, %s; asked %d times", absent, hidden, deleted, f.asked)
	}
	operator := identity.Caller{Tenant: testTenant, Role: identity.Operator}
	if got := lines(t, b, operator, "gone"); got != "delete2[]! put1[]" {
		t.Errorf("an operator sees of what is deleted %s", got)
	}
	if got := lines(t, b, operator, "absent"); got != absent {
		t.Errorf("an operator sees of what was never there %s", got)
	}
	f.err = errors.New("away")
	if got := lines(t, b, aReader, "a/1"); !strings.HasPrefix(got, "503") {
		t.Errorf("while they cannot be read: %s", got)
	}
}

// What searches see is there, whatever is kept, and no more than the newest are shown.
func TestTheCurrentRevisionIsAlwaysThere(t *testing.T) {
	b, f := newRevisionsBench(t)
	a := refOf(testTenant, schema.KindTool, "a/1")
	f.of[a] = f.of[a][:3]
	if got, want := lines(t, b, aReader, "a/1"), "put7[description]! put3[description tags] delete2[] put1[]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	f.of[a] = []events.Change{told(a, 8, `{"name":"n"}`)} // accepted, and not indexed yet
	if got, want := lines(t, b, aReader, "a/1"), "put8[description] put7[]!"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	f.of[a] = nil
	for i := range uint64(30) {
		f.of[a] = append(f.of[a], told(a, 100+i, `{"name":"n"}`))
	}
	if got := strings.Fields(lines(t, b, aReader, "a/1")); len(got) != revisions.Kept || got[0] != "put129[]" {
		t.Errorf("%q", got)
	}
}

func TestARevisionIsComparedWithAnother(t *testing.T) {
	b, _ := newRevisionsBench(t)
	for name, c := range map[string]struct {
		caller            identity.Caller
		revision, against uint64
		want              string
	}{
		"with the one before":         {aReader, 7, 0, `put7 against 5 raw true document true /description "two" "new" /response "r" `},
		"with another":                {aReader, 5, 3, `put5 against 3 raw true document true /description "one" "two" /response  "r"`},
		"the first":                   {aReader, 1, 0, `put1 against 0 raw true document true`},
		"a delete":                    {aReader, 4, 0, `delete4 against 3 raw false document false`},
		"the first that is shown":     {aGuest, 3, 0, `put3 against 0 raw true document true`},
		"what is not shown":           {aGuest, 1, 0, `404 of the tool "a/1" there is no revision 1 any more`},
		"with what is not shown":      {aGuest, 7, 1, `404 of the tool "a/1" there is no revision 1 any more`},
		"with what was never there":   {aReader, 7, 99, `404 of the tool "a/1" there is no revision 99 any more`},
		"a later one with an earlier": {aReader, 3, 7, `put3 against 7 raw true document true /description "new" "one"`},
	} {
		h, err := b.history(identity.With(t.Context(), c.caller), refOf(testTenant, schema.KindTool, "a/1"))
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if d, err := h.detail(c.revision, c.against); err != nil {
			got = statusOf(t, err)
		} else {
			got = fmt.Sprintf("%s%d against %d raw %v document %v", d.Op, d.Revision, d.Against, d.Raw != nil, d.Document != nil)
			for _, x := range d.Differences {
				got += fmt.Sprintf(" %s %s %s", x.Path, x.Before, x.After)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Of what has no document nobody knows whether a grant forbids it: it is shown where there are
// no grants.
func TestARevisionWithoutADocument(t *testing.T) {
	b, _ := newRevisionsBench(t)
	b.deps.Policy = nil
	if got, want := lines(t, b, aReader, "a/1"), "put7[description response]! put6[] put5[description response] delete4[] put3[description tags] delete2[] put1[]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	h, err := b.history(identity.With(t.Context(), aReader), refOf(testTenant, schema.KindTool, "a/1"))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := h.detail(6, 0); err != nil || string(d.Raw) != "null" || d.Document != nil || d.Against != 5 || len(d.Differences) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestRevisionsOverHTTP(t *testing.T) {
	b, _ := newRevisionsBench(t)
	var list revisionList
	if code := b.call(t, "GET", "/v1/tools/a%2F1/revisions", "", &list); code != http.StatusOK || len(list.Revisions) != 6 {
		t.Errorf("%d %+v", code, list)
	}
	var detail RevisionDetail
	if code := b.call(t, "GET", "/v1/tools/a%2F1/revisions/7?against=3", "", &detail); code != http.StatusOK || detail.Against != 3 || len(detail.Differences) != 1 {
		t.Errorf("%d %+v", code, detail)
	}
	for path, want := range map[string]int{
		"/v1/tools/a%2F1/revisions/99": http.StatusNotFound, "/v1/tools/b/revisions": http.StatusNotFound,
		"/v1/providers/a%2F1/revisions": http.StatusNotFound, "/v1/tools/a%2F1/revisions/x": http.StatusUnprocessableEntity,
	} {
		if code := b.call(t, "GET", path, "", nil); code != want {
			t.Errorf("%s: %d", path, code)
		}
	}
}

// The documents of many changes are much work: one history is made at a time, a caller's next
// one waits behind those of others, and none goes on that nobody waits for.
func TestHistoriesTakeTurns(t *testing.T) {
	b, f := newRevisionsBench(t)
	left, leave := context.WithCancel(identity.With(t.Context(), aReader))
	made := 0
	standardize := b.deps.Standardize
	b.deps.Standardize = func(ctx context.Context, c *events.Change) error {
		made++
		leave()
		return standardize(ctx, c)
	}
	ref := refOf(testTenant, schema.KindTool, "a/1")
	if _, err := b.history(left, ref); !errors.Is(err, context.Canceled) || made != 1 {
		t.Errorf("who has left has %d documents made: %v", made, err)
	}
	turn, err := b.histories.enter(t.Context(), aReader)
	if err != nil {
		t.Fatal(err)
	}
	f.asked = 0
	if _, err := b.history(left, ref); !errors.Is(err, context.Canceled) {
		t.Errorf("waits, and has left: %v", err)
	}
	b.histories.held = 2 * longestHistories
	if got := lines(t, b, aReader, "a/1"); got != "503 too many histories wait for their turn" || f.asked != 0 {
		t.Errorf("%s; asked %d times", got, f.asked)
	}
	if got := lines(t, b, aGuest, "secret"); !strings.HasPrefix(got, "404") {
		t.Errorf("what is hidden waits: %s", got)
	}
	turn.leave()
	if got := lines(t, b, aReader, "a/1"); !strings.HasPrefix(got, "put7") {
		t.Errorf("after them: %s", got)
	}
}
