package grounding

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/models/llm"
	"github.com/toolstream/toolstream/internal/models/static"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

const boil = `{"name": "boil_egg", "description": "Boils an egg for 5 minutes. See https://eggs.example.com/docs or write to cook@example.com.",
	"inputSchema": {"properties": {"minutes": {"type": "integer", "description": "How long, in minutes"}, "soft": {"type": "boolean"}}, "required": ["minutes"]}}`

func source(t interface{ Fatal(...any) }, format, raw string, english bool) *Source {
	doc, err := rules.Standardize(format, "kitchen/boil", json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	return NewSource(vectors(t), english, json.RawMessage(raw), rules.StatedBy(format, json.RawMessage(raw), &doc), &doc)
}

// builtin is the model in the binary.
var builtin = sync.OnceValues(static.Builtin)

func vectors(t interface{ Fatal(...any) }) llm.Vectors {
	m, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sound returns an answer about boil that can be taken.
func sound() *prompts.Answer {
	return &prompts.Answer{
		Description: "Boils an egg for 5 minutes, or as long as one likes.",
		Parameters:  []prompts.Parameter{{Name: "minutes", Description: "How long it boils.", Example: "7"}, {Name: "soft", Description: "Whether the yolk stays soft.", Example: "true"}},
		Response:    "The boiled egg, described by a text.\n1. **state**: whether it is done, as an ISO 8601 time.",
		Examples:    []string{"Boil an egg for 12 minutes.", "I would like a soft egg at 7:30."},
	}
}

func TestASoundAnswerIsTaken(t *testing.T) {
	if found := Check(sound(), source(t, "mcp", boil, false)); len(found) > 0 {
		t.Error(found)
	}
}

func TestWhatTheSourceLacksIsFound(t *testing.T) {
	yes := true
	for name, test := range map[string]struct {
		spoil func(*prompts.Answer)
		rule  Rule
	}{
		"an invented parameter":        {func(a *prompts.Answer) { a.Parameters = append(a.Parameters, prompts.Parameter{Name: "salt"}) }, ruleUnknown},
		"a repeated parameter":         {func(a *prompts.Answer) { a.Parameters = append(a.Parameters, a.Parameters[0]) }, ruleTwice},
		"a parameter in another case":  {func(a *prompts.Answer) { a.Parameters[0].Name = "Minutes" }, ruleUnknown},
		"a required flag":              {func(a *prompts.Answer) { a.Parameters[1].Required = &yes }, ruleRequired},
		"a number":                     {func(a *prompts.Answer) { a.Description += " At 93 degrees." }, ruleNumber},
		"a number in the response":     {func(a *prompts.Answer) { a.Response += " At most 64 of them." }, ruleNumber},
		"a number in a parameter":      {func(a *prompts.Answer) { a.Parameters[0].Description += " Up to 60." }, ruleNumber},
		"a URL":                        {func(a *prompts.Answer) { a.Description += " See https://eggs.example.net/docs." }, ruleAddress},
		"a host":                       {func(a *prompts.Answer) { a.Response += " From www.eggs.example" }, ruleAddress},
		"a URL in an example":          {func(a *prompts.Answer) { a.Examples[0] = "Boil what http://x.example/egg shows." }, ruleAddress},
		"a mail address":               {func(a *prompts.Answer) { a.Description += " Write to chef@example.org." }, ruleMail},
		"a mail address in an example": {func(a *prompts.Answer) { a.Examples[0] = "Boil an egg for eve@example.org." }, ruleMail},
		"an identifier":                {func(a *prompts.Answer) { a.Response += " It holds `egg_state`." }, ruleIdentifier},
		"an identifier without marks":  {func(a *prompts.Answer) { a.Response += " It holds errorCode." }, ruleIdentifier},
		"a JSON response":              {func(a *prompts.Answer) { a.Response = `Returns {"state": "done"}.` }, ruleStructure},
		"a block of code":              {func(a *prompts.Answer) { a.Response = "```\nstate\n```" }, ruleStructure},
		"the tool's name":              {func(a *prompts.Answer) { a.Examples[0] = "Call boil_egg for me." }, ruleName},
		"six examples":                 {func(a *prompts.Answer) { a.Examples = slices.Repeat([]string{"Boil an egg."}, 6) }, ruleCount},
		"no example":                   {func(a *prompts.Answer) { a.Examples = nil }, ruleCount},
		"an empty example":             {func(a *prompts.Answer) { a.Examples[1] = " " }, ruleEmpty},
		"a long description":           {func(a *prompts.Answer) { a.Description = strings.Repeat("Boils an egg. ", 400) }, ruleLength},
		"invisible characters":         {func(a *prompts.Answer) { a.Description += "\u200b\u2060" }, ruleHidden},
		"a path":                       {func(a *prompts.Answer) { a.Description += " More under /v1/eggs." }, rulePath},
		"a host of any suffix":         {func(a *prompts.Answer) { a.Response += " Seen at eggs.museum too." }, ruleAddress},
		"a tool in PascalCase":         {func(a *prompts.Answer) { a.Description += " Like FryBacon." }, ruleIdentifier},
		"a number word":                {func(a *prompts.Answer) { a.Description += " It takes a dozen of them." }, ruleNumber},
		"a name":                       {func(a *prompts.Answer) { a.Description += " Served by Salesforce." }, ruleProper},
		"a promise":                    {func(a *prompts.Answer) { a.Description += " Success is guaranteed." }, rulePromise},
		"an effect":                    {func(a *prompts.Answer) { a.Description += " Then it deletes the shell." }, ruleEffect},
		"something else":               {func(a *prompts.Answer) { a.Description = "Returns prices of shares for any stock exchange." }, ruleMeaning},
		"a clause about something":     {func(a *prompts.Answer) { a.Description += " And it draws up plans for training athletes." }, ruleMeaning},
		"another kind of value":        {func(a *prompts.Answer) { a.Parameters[1].Description = "The name of the cook." }, ruleKind},
		"a value of another type":      {func(a *prompts.Answer) { a.Parameters[0].Example = "soon" }, ruleKind},
		"a loop":                       {func(a *prompts.Answer) { a.Response = "The egg is the egg is the egg is the egg." }, ruleLoop},
		"no request":                   {func(a *prompts.Answer) { a.Examples[0] = "This tool boils eggs." }, ruleTemplate},
		"another language": {func(a *prompts.Answer) {
			a.Description, a.Response, a.Examples = "Kocht ein Ei so lange, wie es die Nutzerin mag, und sagt dann, ob es fertig ist.", "Das Ei ist fertig oder nicht.", nil
		}, ruleLanguage},
	} {
		t.Run(name, func(t *testing.T) {
			a := sound()
			test.spoil(a)
			found := Check(a, source(t, "mcp", boil, true))
			if !slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == test.rule }) {
				t.Errorf("found %v, want %q", found, test.rule)
			}
		})
	}
}

func TestValuesInExamplesNeedAParameterThatTakesThem(t *testing.T) {
	raw := `{"name": "ping", "description": "Says whether the server is there.", "inputSchema": {"properties": {"loud": {"type": "boolean"}}}}`
	a := &prompts.Answer{Description: "Says whether the server is there.", Parameters: []prompts.Parameter{{Name: "loud", Description: "Whether to be loud."}}, Examples: []string{"Is the server 17 there?"}}
	if found := Check(a, source(t, "mcp", raw, false)); len(found) != 1 || found[0].Rule != ruleNumber {
		t.Error(found)
	}
	raw = strings.ReplaceAll(raw, `{"type": "boolean"}`, `{"type": "string", "description": "Mail address of who asks"}`)
	a.Examples = []string{"Is server 17 there? Tell eve@example.org."}
	if found := Check(a, source(t, "mcp", raw, false)); len(found) > 0 {
		t.Error(found)
	}
}

func TestProseIsAskedForItsParameters(t *testing.T) {
	no := false
	raw := `"Boils an egg. Give the minutes and, if you like, the size of the egg."`
	a := &prompts.Answer{Description: "Boils an egg.", Parameters: []prompts.Parameter{
		{Name: "minutes", Type: "integer", Description: "How long.", Example: "7"}, {Name: "size", Type: "string", Required: &no, Description: "Of the egg."},
	}, Examples: []string{"Boil an egg."}}
	s := source(t, "text", raw, false)
	if found := Check(a, s); len(found) > 0 {
		t.Error(found)
	}
	a.Parameters = append(a.Parameters, prompts.Parameter{Name: "colour", Type: "string"})
	if found := Check(a, s); len(found) != 1 || found[0].Rule != ruleUnknown {
		t.Error(found)
	}
}

// TestNoParameterIsInvented holds that nothing is taken about other parameters
// than the source's, whichever they are.
func TestNoParameterIsInvented(t *testing.T) {
	s := source(t, "mcp", boil, false)
	rapid.Check(t, func(t *rapid.T) {
		a := sound()
		a.Parameters = nil
		for _, n := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"minutes", "soft", "salt", "Minutes", "", "minutes "}), 0, 4, rapid.ID).Draw(t, "names") {
			a.Parameters = append(a.Parameters, prompts.Parameter{Name: n, Description: "How it is."})
		}
		got, _ := Accept(a, s)
		for _, p := range got.Parameters {
			if p.Name != "minutes" && p.Name != "soft" {
				t.Fatalf("%+v", got.Parameters)
			}
		}
		if got.Description == "" || len(got.Examples) != 2 {
			t.Fatalf("a parameter costs more than itself: %+v", got)
		}
	})
}

// TestInventedLiteralsAreFound holds that a number or an address is found
// wherever it stands in a text about the tool.
func TestInventedLiteralsAreFound(t *testing.T) {
	s := source(t, "mcp", boil, false)
	invented := rapid.OneOf(rapid.StringMatching(`[1-9][0-9]{2,8}`), rapid.StringMatching(`https://[a-z]{3,9}\.example/[a-z]{1,9}`),
		rapid.StringMatching(`[a-z]{3,9}@[a-z]{3,9}\.example`), rapid.StringMatching(`zq[a-z]{2,6}_[a-z]{2,6}`), rapid.StringMatching(`zq[a-z]{2,6}[A-Z][a-z]{2,6}`))
	rapid.Check(t, func(t *rapid.T) {
		a := sound()
		what := invented.Draw(t, "what")
		words := strings.Fields("boils an egg as long as one likes")
		at := rapid.IntRange(0, len(words)).Draw(t, "at")
		text := strings.Join(slices.Insert(words, at, what), " ")
		switch rapid.IntRange(0, 2).Draw(t, "where") {
		case 0:
			a.Description = text
		case 1:
			a.Response = text
		case 2:
			a.Parameters[0].Description = text
		}
		if len(Check(a, s)) == 0 {
			t.Fatalf("%q is taken", text)
		}
	})
}
