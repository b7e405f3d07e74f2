package index

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/pkg/schema"
)

func TestTexts(t *testing.T) {
	doc := &schema.Document{
		Name:        "getUserToken",
		Title:       "Sign in",
		Tags:        []string{"auth", "userAccounts"},
		Description: "Returns a token. Call before list_orders.",
		Parameters: []schema.Parameter{
			{Name: "userName", Type: "string", Required: true, Description: "Who signs in."},
			{Name: "ttl"},
		},
		Response: "A token.",
		Examples: []string{"give me a token", "log me in", "book a taxi to the airport"},
	}
	got := Texts(doc)
	for _, c := range []struct{ field, got, want string }{
		{"name", got.Name, "get User Token Sign in. Returns a token. Call before list orders. [auth, user Accounts]"},
		{"flat", got.Flat, "get User Token Sign in. Returns a token. Call before list orders. auth, user Accounts. " +
			"Parameters: user Name: Who signs in.; ttl. Returns: A token. give me a token"},
		{"description", got.Description, "Returns a token. Call before list orders."},
		{"response", got.Response, "A token."},
		{"example", got.Examples[0], "give me a token"},
		{"example about something else", got.Examples[2], "book a taxi to the airport"},
		{"parameter", got.Parameters[0], "user Name (string): Who signs in."},
		{"bare parameter", got.Parameters[1], "ttl"},
		{"argument", ArgumentText("userName", "the account"), "user Name: the account"},
		{"argument with a type", ArgumentText("userName", Typed("string", "the account")), "user Name (string): the account"},
		{"argument with a type alone", ArgumentText("userName", "(string) "), "user Name (string)"},
		{"argument of an unknown type", ArgumentText("userName", Typed("str", "the account")), "user Name: the account"},
		{"argument in parentheses", ArgumentText("userName", "(optional) the account"), "user Name: (optional) the account"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got  %q\nwant %q", c.field, c.got, c.want)
		}
	}
}

func TestTextsOfAnEmptyDocumentAreEmpty(t *testing.T) {
	f := Texts(&schema.Document{})
	if f.Name != "" || f.Flat != "" || f.Description != "" || f.Response != "" || len(f.Examples)+len(f.Parameters) != 0 {
		t.Fatalf("%+v", f)
	}
}

func TestTitleThatRepeatsTheNameIsSaidOnce(t *testing.T) {
	if got := Texts(&schema.Document{Name: "get_weather", Title: "Get weather"}).Name; got != "get weather" {
		t.Fatalf("%q", got)
	}
}

func TestTextsAreBoundedWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		long := func(label string) string {
			return strings.Repeat(rapid.StringN(1, 20, 60).Draw(t, label), rapid.IntRange(0, 2000).Draw(t, label+" times"))
		}
		doc := &schema.Document{
			Name: long("name"), Description: long("description"), Response: long("response"), Examples: []string{long("example")},
			Parameters: []schema.Parameter{{Name: long("parameter"), Description: long("meaning")}, {Name: "p"}},
		}
		f := Texts(doc)
		if len(f.Examples) != len(doc.Examples) || len(f.Parameters) != len(doc.Parameters) {
			t.Fatal("a text is missing")
		}
		for _, s := range append([]string{f.Name, f.Description, f.Response}, append(f.Examples, f.Parameters...)...) {
			if len(s) > maxField {
				t.Fatalf("a text of %d bytes", len(s))
			}
			if !utf8.ValidString(s) {
				t.Fatal("a character was cut")
			}
		}
		if len(f.Flat) > maxFlat || !utf8.ValidString(f.Flat) {
			t.Fatalf("a flat text of %d bytes", len(f.Flat))
		}
	})
}

func TestALabelIsWhatPeopleCallATool(t *testing.T) {
	for _, c := range []struct {
		doc  schema.Document
		want string
	}{
		{schema.Document{Name: "create_card", Title: "New card"}, "create card"},
		{schema.Document{Name: "GET /alerts/{id}", Title: "Severe weather warnings"}, "severe weather warnings"},
		{schema.Document{Name: "GET /alerts"}, "get alerts"},
	} {
		if got := Label(&c.doc); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
