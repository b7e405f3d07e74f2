package grounding

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/adapter/static"
	"github.com/toolstream/toolstream/internal/topic"
	"github.com/toolstream/toolstream/services/standardizer/answer"
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

func vectors(t interface{ Fatal(...any) }) topic.Vectors {
	m, err := builtin()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// sound returns an answer about boil that can be taken.
func sound() *answer.Answer {
	return &answer.Answer{
		Description: "Boils an egg for 5 minutes, or as long as one likes.",
		Parameters:  []answer.Parameter{{Name: "minutes", Description: "How long it boils.", Example: "7"}, {Name: "soft", Description: "Whether the yolk stays soft.", Example: "true"}},
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
		spoil func(*answer.Answer)
		rule  Rule
	}{
		"an invented parameter":        {func(a *answer.Answer) { a.Parameters = append(a.Parameters, answer.Parameter{Name: "salt"}) }, RuleUnknown},
		"a repeated parameter":         {func(a *answer.Answer) { a.Parameters = append(a.Parameters, a.Parameters[0]) }, RuleTwice},
		"a parameter in another case":  {func(a *answer.Answer) { a.Parameters[0].Name = "Minutes" }, RuleUnknown},
		"a required flag":              {func(a *answer.Answer) { a.Parameters[1].Required = &yes }, RuleRequired},
		"a number":                     {func(a *answer.Answer) { a.Description += " At 93 degrees." }, RuleNumber},
		"a number in the response":     {func(a *answer.Answer) { a.Response += " At most 64 of them." }, RuleNumber},
		"a number in a parameter":      {func(a *answer.Answer) { a.Parameters[0].Description += " Up to 60." }, RuleNumber},
		"a URL":                        {func(a *answer.Answer) { a.Description += " See https://eggs.example.net/docs." }, RuleAddress},
		"a host":                       {func(a *answer.Answer) { a.Response += " From www.eggs.example" }, RuleAddress},
		"a URL in an example":          {func(a *answer.Answer) { a.Examples[0] = "Boil what http://x.example/egg shows." }, RuleAddress},
		"a mail address":               {func(a *answer.Answer) { a.Description += " Write to chef@example.org." }, RuleMail},
		"a mail address in an example": {func(a *answer.Answer) { a.Examples[0] = "Boil an egg for eve@example.org." }, RuleMail},
		"an identifier":                {func(a *answer.Answer) { a.Response += " It holds `egg_state`." }, RuleIdentifier},
		"an identifier without marks":  {func(a *answer.Answer) { a.Response += " It holds errorCode." }, RuleIdentifier},
		"a JSON response":              {func(a *answer.Answer) { a.Response = `Returns {"state": "done"}.` }, RuleStructure},
		"a block of code":              {func(a *answer.Answer) { a.Response = "```\nstate\n```" }, RuleStructure},
		"the tool's name":              {func(a *answer.Answer) { a.Examples[0] = "Call boil_egg for me." }, RuleName},
		"six examples":                 {func(a *answer.Answer) { a.Examples = slices.Repeat([]string{"Boil an egg."}, 6) }, RuleCount},
		"no example":                   {func(a *answer.Answer) { a.Examples = nil }, RuleCount},
		"an empty example":             {func(a *answer.Answer) { a.Examples[1] = " " }, RuleEmpty},
		"a long description":           {func(a *answer.Answer) { a.Description = strings.Repeat("Boils an egg. ", 400) }, RuleLength},
		"invisible characters":         {func(a *answer.Answer) { a.Description += "\u200b\u2060" }, RuleHidden},
		"a path":                       {func(a *answer.Answer) { a.Description += " More under /v1/eggs." }, RulePath},
		"a host of any suffix":         {func(a *answer.Answer) { a.Response += " Seen at eggs.museum too." }, RuleAddress},
		"a tool in PascalCase":         {func(a *answer.Answer) { a.Description += " Like FryBacon." }, RuleIdentifier},
		"a number word":                {func(a *answer.Answer) { a.Description += " It takes a dozen of them." }, RuleNumber},
		"a name":                       {func(a *answer.Answer) { a.Description += " Served by Salesforce." }, RuleProper},
		"a promise":                    {func(a *answer.Answer) { a.Description += " Success is guaranteed." }, RulePromise},
		"an effect":                    {func(a *answer.Answer) { a.Description += " Then it deletes the shell." }, RuleEffect},
		"something else":               {func(a *answer.Answer) { a.Description = "Returns prices of shares for any stock exchange." }, RuleMeaning},
		"a clause about something":     {func(a *answer.Answer) { a.Description += " And it draws up plans for training athletes." }, RuleMeaning},
		"another kind of value":        {func(a *answer.Answer) { a.Parameters[1].Description = "The name of the cook." }, RuleKind},
		"a value of another type":      {func(a *answer.Answer) { a.Parameters[0].Example = "soon" }, RuleKind},
		"a loop":                       {func(a *answer.Answer) { a.Response = "The egg is the egg is the egg is the egg." }, RuleLoop},
		"no request":                   {func(a *answer.Answer) { a.Examples[0] = "This tool boils eggs." }, RuleTemplate},
		"another language": {func(a *answer.Answer) {
			a.Description, a.Response, a.Examples = "Kocht ein Ei so lange, wie es die Nutzerin mag, und sagt dann, ob es fertig ist.", "Das Ei ist fertig oder nicht.", nil
		}, RuleLanguage},
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
	a := &answer.Answer{Description: "Says whether the server is there.", Parameters: []answer.Parameter{{Name: "loud", Description: "Whether to be loud."}}, Examples: []string{"Is the server 17 there?"}}
	if found := Check(a, source(t, "mcp", raw, false)); len(found) != 1 || found[0].Rule != RuleNumber {
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
	a := &answer.Answer{Description: "Boils an egg.", Parameters: []answer.Parameter{
		{Name: "minutes", Type: "integer", Description: "How long.", Example: "7"}, {Name: "size", Type: "string", Required: &no, Description: "Of the egg."},
	}, Examples: []string{"Boil an egg."}}
	s := source(t, "text", raw, false)
	if found := Check(a, s); len(found) > 0 {
		t.Error(found)
	}
	a.Parameters = append(a.Parameters, answer.Parameter{Name: "colour", Type: "string"})
	if found := Check(a, s); len(found) != 1 || found[0].Rule != RuleUnknown {
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
			a.Parameters = append(a.Parameters, answer.Parameter{Name: n, Description: "How it is."})
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
