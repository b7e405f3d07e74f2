package query

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolstream/toolstream/internal/changes/revisions"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/pkg/events"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
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
	b.revisions = f
	b.makes = func(_ context.Context, c *events.Change) error {
		if string(c.Raw) == "null" {
			return errors.New("no document")
		}
		return json.Unmarshal(c.Raw, &c.Document)
	}
	b.grants(t, "{effect: allow, action: find, on: '*', to: '*'}", "{effect: deny, action: find, on: 'tag:secret', to: 'group:guests'}")
	b.build(t, Config{})
	return b, f
}

var aGuest = identity.Caller{Tenant: testTenant, Groups: []string{"guests"}, Role: identity.Reader}

// lines returns the revisions of a tool as a caller sees them, or the status.
func lines(t *testing.T, b *bench, caller identity.Caller, id string) string {
	t.Helper()
	var got struct {
		revisionList
		Detail string
	}
	status := b.callIn(identity.With(t.Context(), caller), t, "GET", "/v1/tools/"+url.PathEscape(id)+"/revisions", "", &got)
	if status != http.StatusOK {
		return fmt.Sprint(status, " ", got.Detail)
	}
	var out []string
	for _, r := range got.Revisions {
		line := fmt.Sprintf("%s%d%v", r.Op, r.Revision, r.Changed)
		if r.Current {
			line += "!"
		}
		out = append(out, line)
	}
	return strings.Join(out, " ")
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
	if code := b.call(t, "GET", "/v1/providers/a%2F1/revisions", "", nil); code != http.StatusNotFound {
		t.Errorf("of a provider with the id of a tool: %d", code)
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
		"what is not shown":           {aGuest, 1, 0, `404 revision 1 of the tool "a/1" is not kept any more`},
		"with what is not shown":      {aGuest, 7, 1, `404 revision 1 of the tool "a/1" is not kept any more`},
		"with what was never there":   {aReader, 7, 99, `404 revision 99 of the tool "a/1" is not kept any more`},
		"a later one with an earlier": {aReader, 3, 7, `put3 against 7 raw true document true /description "new" "one"`},
	} {
		var d struct {
			catalogue.RevisionDetail
			Detail string
		}
		status := b.callIn(identity.With(t.Context(), c.caller), t, "GET", fmt.Sprintf("/v1/tools/a%%2F1/revisions/%d?against=%d", c.revision, c.against), "", &d)
		got := fmt.Sprint(status, " ", d.Detail)
		if status == http.StatusOK {
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
	b.policy = nil
	b.build(t, Config{})
	if got, want := lines(t, b, aReader, "a/1"), "put7[description response]! put6[] put5[description response] delete4[] put3[description tags] delete2[] put1[]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var d catalogue.RevisionDetail
	if b.callIn(identity.With(t.Context(), aReader), t, "GET", "/v1/tools/a%2F1/revisions/6", "", &d); string(d.Raw) != "null" || d.Document != nil || d.Against != 5 || len(d.Differences) > 0 {
		t.Errorf("%+v", d)
	}
}

// The documents of many changes are much work: one history is made at a time, a caller's next
// one waits behind those of others, and none goes on that nobody waits for.
func TestHistoriesTakeTurns(t *testing.T) {
	b, _ := newRevisionsBench(t)
	left, leave := context.WithCancel(identity.With(t.Context(), aReader))
	made, standardize := 0, b.makes
	b.makes = func(ctx context.Context, c *events.Change) error {
		made++
		leave()
		return standardize(ctx, c)
	}
	b.build(t, Config{})
	if b.callIn(left, t, "GET", "/v1/tools/a%2F1/revisions", "", nil); made != 1 {
		t.Errorf("%d documents are made for a caller that has left", made)
	}
	synctest.Test(t, func(t *testing.T) {
		b, f := newRevisionsBench(t)
		standardize, takes := b.makes, 20*time.Minute // one history of this length makes the mean too long
		b.makes = func(ctx context.Context, c *events.Change) error {
			<-time.After(takes)
			return standardize(ctx, c)
		}
		b.build(t, Config{})
		if got := lines(t, b, aReader, "a/1"); !strings.HasPrefix(got, "put7") {
			t.Errorf("the first: %s", got)
		}
		working := make(chan string)
		go func() { working <- lines(t, b, aReader, "a/1") }()
		synctest.Wait()
		f.asked = 0
		if got := lines(t, b, aReader, "a/1"); got != "503 too many histories wait for their turn" || f.asked != 0 {
			t.Errorf("%s; asked %d times", got, f.asked)
		}
		if got := lines(t, b, aGuest, "secret"); !strings.HasPrefix(got, "404") {
			t.Errorf("a hidden tool waits: %s", got)
		}
		if got := <-working; !strings.HasPrefix(got, "put7") {
			t.Errorf("the one under way: %s", got)
		}
	})
}
