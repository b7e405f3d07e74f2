package query

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/query/catalogue"
	"github.com/toolstream/toolstream/services/query/search"
)

// called gives a tool of a bench its callable name.
func (b *bench) called(id, name string) {
	ref := refOf(testTenant, schema.KindTool, id)
	e := b.catalogue.entities[ref]
	e.CallableName = name
	b.catalogue.entities[ref] = e
}

// newNamedBench returns a bench with a policy by which guests find what is not secret.
func newNamedBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, tool("mail/send", "mail", 1), tool("mail_send", "", 1), tool("mail/get", "mail", 1), tool("x/1", "x", 1), tool("x/2", "x", 1), tool("secret/1", "secret", 1), tool("held", "mail", 1))
	b.called("mail/send", "mail_send")
	b.called("mail_send", "mail_send_00000001")
	b.called("mail/get", "mail_get")
	b.called("x/1", "same_12345678")
	b.called("x/2", "same_12345678")
	b.called("secret/1", "mail_get")
	b.edit(refOf(testTenant, schema.KindTool, "held"), func(d *schema.Document) { d.Quarantined = true })
	b.grants(t, "{effect: allow, action: destroy, on: '*', to: '*'}", "{effect: deny, action: find, on: 'provider:secret', to: 'group:guests'}")
	b.build(t, Config{})
	return b
}

func TestAToolIsFoundByItsIDAndItsName(t *testing.T) {
	b := newNamedBench(t)
	guest := identity.Caller{Tenant: testTenant, Groups: []string{"guests"}, Role: identity.Reader}
	other := identity.Caller{Tenant: testTenant, Role: identity.Reader}
	for _, c := range []struct {
		caller identity.Caller
		key    string
		id     string // of the tool that is found
		status int    // or what the error is
	}{
		{guest, "mail/send", "mail/send", 0},
		{guest, "mail_send_00000001", "mail_send", 0},
		{guest, "mail_get", "mail/get", 0}, // the other one that is called so is not for guests to find
		{other, "mail_get", "", http.StatusUnprocessableEntity},
		{guest, "mail_send", "", http.StatusUnprocessableEntity}, // one's id and the other's name
		{guest, "same_12345678", "", http.StatusUnprocessableEntity},
		{guest, "x/1", "x/1", 0},
		{guest, "secret/1", "", http.StatusNotFound},
		{other, "secret/1", "secret/1", 0},
		{guest, "nothing", "", http.StatusNotFound},
		{guest, "mail", "", http.StatusNotFound},
		{guest, "held", "held", 0},
		{identity.Caller{Tenant: "unknown", Role: identity.Reader}, "mail/send", "", http.StatusNotFound},
	} {
		e, raw, err := b.Tool(t.Context(), c.caller, c.key)
		status := search.Status(err)
		if errors.Is(err, catalogue.ErrNoTool) {
			status = http.StatusNotFound
		}
		if (err != nil || c.status != 0) && status != c.status || e.ID != c.id {
			t.Errorf("%s for %v: %q, %v, status %d", c.key, c.caller.Groups, e.ID, err, status)
		}
		if c.id != "" && string(raw) != `{"of":"`+c.id+`"}` {
			t.Errorf("%s: the document is %s", c.key, raw)
		}
	}
	var several *schema.Invalid
	if _, _, err := b.Tool(t.Context(), guest, "mail_send"); !errors.As(err, &several) || !strings.Contains(several.Reason, `use an id: "mail/send" or "mail_send_00000001"`) {
		t.Errorf("several: %v", err)
	}
	b.catalogue.err = errDown
	if _, _, err := b.Tool(t.Context(), guest, "mail_get"); search.Status(err) != http.StatusServiceUnavailable {
		t.Errorf("without a catalogue: %v", err)
	}
}

func TestToolsAreShownWithTheirNames(t *testing.T) {
	b := newNamedBench(t)
	b.policy = nil
	b.build(t, Config{})
	for target, want := range map[string]string{
		"/v1/tools/mail%2Fsend": "mail/send", "/v1/tools/mail_send": "mail_send", "/v1/tools/mail_send_00000001": "mail_send",
		"/v1/tools/same_12345678": "422", "/v1/tools/none": "404", "/v1/providers/mail_send": "404",
	} {
		var got struct {
			ID           string `json:"id"`
			CallableName string `json:"callable_name"`
			Errors       []struct{ Location string }
		}
		status := b.call(t, "GET", target, "", &got)
		if status != http.StatusOK {
			got.ID = map[int]string{404: "404", 422: "422"}[status]
		}
		if got.ID != want {
			t.Errorf("%s shows %+v, want %s", target, got, want)
		}
		if status == http.StatusUnprocessableEntity && got.Errors[0].Location != "/path/id" {
			t.Errorf("an ambiguous name: %+v", got.Errors)
		}
		if got.ID == "mail/send" && got.CallableName != "mail_send" {
			t.Errorf("it is called %q", got.CallableName)
		}
	}
	var page toolsPage
	if b.call(t, "GET", "/v1/tools", "", &page); len(page.Tools) != 7 || page.Tools[1].CallableName != "mail_get" {
		t.Errorf("listed %+v", page.Tools)
	}
	answer := check.Value(b.Search(t.Context(), identity.Caller{Tenant: testTenant, Role: identity.Reader}, schema.SearchRequest{Query: "send"}))(t)
	for _, r := range answer.Results {
		if want := b.catalogue.entities[refOf(testTenant, schema.KindTool, r.ID)].CallableName; r.CallableName != want {
			t.Errorf("%s is called %q in an answer, want %q", r.ID, r.CallableName, want)
		}
	}
}
