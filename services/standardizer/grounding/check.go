package grounding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/answer"
	"github.com/toolstream/toolstream/services/standardizer/injection"
)

// Limits of what is taken of an answer, in bytes and counts.
const (
	MaxDescription = 2 << 10
	MaxResponse    = 4 << 10
	MaxParameter   = 1 << 10 // its description
	MaxValue       = 1 << 10 // its example
	MaxExample     = 512
)

// Rule names a check.
type Rule string

// The checks.
const (
	RuleUnknown    Rule = "unknown parameter"
	RuleShape      Rule = "another shape"
	RuleTwice      Rule = "parameter named twice"
	RuleType       Rule = "another type"
	RuleRequired   Rule = "another required flag"
	RuleLength     Rule = "too long"
	RuleCount      Rule = "too many or none"
	RuleEmpty      Rule = "empty"
	RuleStructure  Rule = "structure instead of prose"
	RuleName       Rule = "names a tool"
	RuleIdentifier Rule = "identifier that the source lacks"
	RuleNumber     Rule = "number that the source lacks"
	RuleMail       Rule = "mail address that the source lacks"
	RuleAddress    Rule = "URL that the source lacks"
	RuleHidden     Rule = "invisible characters"
	RuleModel      Rule = "speaks to a model"
	RuleLanguage   Rule = "another language"
	RulePath       Rule = "path that the source lacks"
	RuleProper     Rule = "name that the source lacks"
	RulePromise    Rule = "promise that the source does not make"
	RuleEffect     Rule = "effect that the source lacks"
	RuleLoop       Rule = "goes round in circles"
	RuleTemplate   Rule = "no request of a user"
	RuleMeaning    Rule = "about something else"
	RuleKind       Rule = "another kind of value"
)

// Violation is one thing that is wrong with an answer.
type Violation struct {
	Rule  Rule
	Where string // "parameters/city/description"
	What  string // the offending text, bounded
}

// String says it in one line.
func (v Violation) String() string {
	if v.What == "" {
		return fmt.Sprintf("%s: %s", v.Where, v.Rule)
	}
	return fmt.Sprintf("%s: %s: %s", v.Where, v.Rule, schema.Quote(v.What))
}

// Check returns everything that is wrong with an answer, nothing for one that
// can be taken.
func Check(a *answer.Answer, s *Source) []Violation {
	c := checker{source: s, told: told(a)}
	c.parameters(a.Parameters)
	c.legible("description", a.Description, MaxDescription)
	c.claims("description", a.Description)
	if strange := c.sharesTooLittle(a.Description); strange != "" {
		c.add(RuleMeaning, "description", strange)
	}
	c.legible("response", a.Response, MaxResponse)
	c.claims("response", a.Response)
	if a.Response != "" && !prose(a.Response, 1) {
		c.add(RuleStructure, "response", a.Response)
	}
	if len(a.Examples) == 0 || len(a.Examples) > answer.MaxExamples {
		c.add(RuleCount, "examples", fmt.Sprintf("%d, not 1 to %d", len(a.Examples), answer.MaxExamples))
	}
	for i, e := range a.Examples {
		c.example(exampleAt(i), e)
	}
	c.language(a)
	slices.SortStableFunc(c.found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.What, b.What))
	})
	return c.found
}

// Accept returns what can be taken of an answer, field by field, and what is
// wrong with the rest.
func Accept(a *answer.Answer, s *Source) (*answer.Answer, []Violation) {
	found := Check(a, s)
	refused := map[string]bool{}
	for _, v := range found {
		refused[v.Where] = true
	}
	taken := func(where, said string) string {
		if refused[where] {
			return ""
		}
		return said
	}
	out := &answer.Answer{Description: taken("description", a.Description), Response: taken("response", a.Response)}
	for _, p := range a.Parameters {
		where := parameterAt(p.Name)
		if refused[where] {
			continue
		}
		p.Type, p.Description, p.Example = taken(where+"/type", p.Type), taken(where+"/description", p.Description), taken(where+"/example", p.Example)
		if refused[where+"/required"] {
			p.Required = nil
		}
		if !s.stated.Names || p != (answer.Parameter{Name: p.Name}) {
			out.Parameters = append(out.Parameters, p)
		}
	}
	for i, e := range a.Examples {
		if !refused[exampleAt(i)] && len(out.Examples) < answer.MaxExamples {
			out.Examples = append(out.Examples, e)
		}
	}
	return out, found
}

func parameterAt(name string) string { return "parameters/" + text.Truncate(name, 80) }
func exampleAt(i int) string         { return fmt.Sprintf("examples/%d", i) }

// told returns the parameters of an answer, for a source that lists none.
func told(a *answer.Answer) []schema.Parameter {
	out := make([]schema.Parameter, len(a.Parameters))
	for i, p := range a.Parameters {
		out[i] = schema.Parameter{Name: p.Name, Type: p.Type, Description: p.Description}
	}
	return out
}

type checker struct {
	source *Source
	told   []schema.Parameter
	found  []Violation
}

func (c *checker) add(rule Rule, where, what string) {
	c.found = append(c.found, Violation{rule, where, text.Truncate(what, 80)})
}

// parameters checks that they are the source's, and what is said of each.
func (c *checker) parameters(said []answer.Parameter) {
	seen := map[string]bool{}
	for i := range said {
		p := &said[i]
		where := parameterAt(p.Name)
		if seen[p.Name] {
			c.add(RuleTwice, where, "")
		}
		seen[p.Name] = true
		c.fact(where, p)
		c.legible(where+"/description", p.Description, MaxParameter)
		c.claims(where+"/description", withoutExamples(p))
		c.kind(where+"/description", p)
		if p.Description != "" && squeeze(p.Description) == squeeze(c.source.doc.Name) {
			c.add(RuleName, where+"/description", p.Description)
		}
		c.value(where+"/example", p)
	}
	if len(said) > schema.MaxParameters {
		c.add(RuleCount, "parameters", fmt.Sprint(len(said)))
	}
}

// fact checks name, type and required flag against what the source states.
func (c *checker) fact(where string, p *answer.Parameter) {
	i := slices.IndexFunc(c.source.doc.Parameters, func(q schema.Parameter) bool { return q.Name == p.Name })
	if i < 0 {
		if c.source.stated.Names || p.Name == "" || len(p.Name) > schema.MaxName || !c.source.says(p.Name) {
			c.add(RuleUnknown, where, "")
		}
		if p.Type != "" && !knownType(p.Type) {
			c.add(RuleType, where+"/type", p.Type)
		}
		return
	}
	fact := &c.source.doc.Parameters[i]
	if !c.source.stated.Types && p.Type != "" && !sameType(fact.Type, p.Type) {
		c.add(RuleType, where+"/type", p.Type)
	}
	if p.Required != nil && *p.Required != fact.Required && (c.source.stated.Required || !fact.Required) {
		c.add(RuleRequired, where+"/required", fmt.Sprint(*p.Required))
	}
}

// kind checks that what is said of a parameter can be its value.
func (c *checker) kind(where string, p *answer.Parameter) {
	i := slices.IndexFunc(c.source.doc.Parameters, func(q schema.Parameter) bool { return q.Name == p.Name })
	if i < 0 || p.Description == "" {
		return
	}
	fact := &c.source.doc.Parameters[i]
	if !fits(kindOf(p.Description), fact) && !c.source.isOwn(p.Description, fact) || c.source.isAnothers(p.Description, fact) {
		c.add(RuleKind, where, p.Description)
	}
}

// withoutExamples returns the description of a parameter without the values that
// it gives as examples, but for addresses.
func withoutExamples(p *answer.Parameter) string {
	return strings.TrimSpace(exampleOf.ReplaceAllString(p.Description, "$1") + " " + strings.Join(address.FindAllString(p.Description, -1), " "))
}

// claims checks a text that says something about the tool: it makes up no value.
func (c *checker) claims(where, said string) {
	if refusal.MatchString(said) {
		c.add(RuleModel, where, said)
	}
	c.literals(where, said, nil)
	language := languageOf(said, c.source.language())
	plain := c.source.withoutSpelledOut(bold.ReplaceAllString(address.ReplaceAllString(said, " "), " "))
	for _, name := range namesIn(plain, language) {
		if !c.source.names(name) {
			c.add(RuleProper, where, name)
		}
	}
	for _, m := range promises.FindAllStringSubmatch(said, -1) {
		if !c.source.says(m[1]) {
			c.add(RulePromise, where, m[1])
		}
	}
	if where != "description" { // all else may speak of what has been done
		return
	}
	for kind, word := range claimedIn(spaced(negated.ReplaceAllString(said, " ")), language) {
		if !c.source.effects[kind] {
			c.add(RuleEffect, where, word)
		}
	}
}

// identifiers checks what looks like code, and returns the text without it.
func (c *checker) identifiers(where, said string) string {
	for _, m := range joined.FindAllString(said, -1) {
		if !c.source.names(m) {
			c.add(RuleIdentifier, where, m)
		}
	}
	return joined.ReplaceAllString(said, " ")
}

// legible checks what every text has to be.
func (c *checker) legible(where, said string, limit int) {
	if len(said) > limit {
		c.add(RuleLength, where, fmt.Sprint(len(said)))
	}
	if strings.ContainsFunc(said, hidden) {
		c.add(RuleHidden, where, "")
	}
	if injection.Score(said) >= injection.Threshold || voice.MatchString(said) || instructed.Repeats(said, leastEcho) {
		c.add(RuleModel, where, said)
	}
	if blank.MatchString(said) && !c.source.lists(said) {
		c.add(RuleEmpty, where, said)
	}
	if jsonText.MatchString(said) && !strings.HasSuffix(where, "/example") {
		c.add(RuleStructure, where, said)
	}
	if loops(said) {
		c.add(RuleLoop, where, said)
	}
}

// example checks what a user might ask. Its values are made up, so each needs
// a parameter that can take it; its words are not those of the interface.
func (c *checker) example(where, said string) {
	c.legible(where, said, MaxExample)
	if strings.TrimSpace(said) == "" {
		c.add(RuleEmpty, where, "")
	}
	c.namesTool(where, said)
	if !prose(said, 2) {
		c.add(RuleStructure, where, said)
	}
	if template.MatchString(said) || len(squeeze(said)) > 0 && strings.Contains(squeeze(c.source.doc.Description), squeeze(said)) {
		c.add(RuleTemplate, where, said)
	}
	takers := c.source.doc.Parameters
	if !c.source.stated.Names { // the source lists none
		takers = append(takers[:len(takers):len(takers)], c.told...)
	}
	c.literals(where, said, takers)
}

// value checks the example of a parameter.
func (c *checker) value(where string, p *answer.Parameter) {
	c.legible(where, p.Example, MaxValue)
	fact := schema.Parameter{Name: p.Name, Type: p.Type, Description: p.Description}
	for _, q := range c.source.doc.Parameters {
		if q.Name == p.Name {
			fact.Type, fact.Enum = q.Type, q.Enum
			fact.Description += " " + q.Description
		}
	}
	if p.Example != "" && !holds(&fact, p.Example) {
		c.add(RuleKind, where, p.Example)
	}
	c.literals(where, p.Example, []schema.Parameter{fact})
}

// literals checks the values of a text: each stands in the source, or one of the takers
// takes values of its kind.
func (c *checker) literals(where, said string, takers []schema.Parameter) {
	takes := func(kind func(*schema.Parameter) bool) bool {
		return slices.ContainsFunc(takers, func(p schema.Parameter) bool { return kind(&p) })
	}
	for _, m := range email.FindAllString(said, -1) {
		if !c.source.says(m) && !takes(takesText) {
			c.add(RuleMail, where, m)
		}
	}
	said = email.ReplaceAllString(said, " ")
	for _, m := range address.FindAllString(said, -1) {
		if isHost(m) && !c.source.says(strings.TrimRight(m, ".,;:!?")) && !takes(takesText) {
			c.add(RuleAddress, where, m)
		}
	}
	said = address.ReplaceAllString(said, " ")
	if takes(takesValue) || len(takers) == 0 && !c.source.stated.Names && strings.HasPrefix(where, "examples/") {
		return
	}
	for _, m := range path.FindAllStringSubmatch(said, -1) {
		if !c.source.says(strings.TrimRight(m[1], ".,;:!?")) {
			c.add(RulePath, where, m[1])
		}
	}
	said = c.identifiers(where, said)
	for _, n := range numbersIn(bare(said)) {
		if !c.source.numbers[n.value] {
			c.add(RuleNumber, where, n.text)
		}
	}
	for _, n := range numberWordsIn(bare(said)) {
		if n.value != "2" && !c.source.numbers[n.value] && !c.source.counts[n.value] {
			c.add(RuleNumber, where, n.text)
		}
	}
}

// namesTool checks that a request does not name the tool.
func (c *checker) namesTool(where, said string) {
	own := c.source.topic.Stems(text.Split(c.source.doc.Name))
	for _, m := range compound.FindAllString(said, -1) {
		if parts := c.source.topic.Stems(text.Split(m)); len(parts) > 1 && (sameWords(parts, own) || strings.HasPrefix(said, m) && within(parts, own)) {
			c.add(RuleName, where, m)
		}
	}
}

// language checks that each text is in the language that was asked for, where
// both can be told: one that is too short to tell is in that of the others.
func (c *checker) language(a *answer.Answer) {
	want := c.source.doc.Language
	if c.source.english {
		want = "en"
	}
	texts := map[string]string{"description": a.Description, "response": a.Response}
	for i, e := range a.Examples {
		texts[exampleAt(i)] = quoted.ReplaceAllString(e, " ")
	}
	for _, p := range a.Parameters {
		texts[parameterAt(p.Name)+"/description"] = p.Description
	}
	for where, said := range texts {
		if is := foreign(said, text.Language(want)); want != "" && is != "" {
			c.add(RuleLanguage, where, is+", not "+want)
		}
	}
}
