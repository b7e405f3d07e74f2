package grounding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/text"
	"github.com/toolstream/toolstream/internal/tooldoc/provenance"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/injection"
	"github.com/toolstream/toolstream/services/standardizer/prompts"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// Limits of an answer, in bytes.
const (
	maxDescription = 2 << 10
	maxResponse    = 4 << 10
	maxParameter   = 1 << 10 // its description
	maxValue       = 1 << 10 // its example
	maxExample     = 512
)

// Rule names a check.
type Rule string

// The checks.
const (
	ruleUnknown    Rule = "unknown parameter"
	RuleShape      Rule = "another shape"
	ruleTwice      Rule = "parameter named twice"
	ruleType       Rule = "another type"
	ruleRequired   Rule = "another required flag"
	ruleLength     Rule = "too long"
	ruleCount      Rule = "too many or none"
	ruleEmpty      Rule = "empty"
	ruleStructure  Rule = "structure instead of prose"
	ruleName       Rule = "names a tool"
	ruleIdentifier Rule = "identifier that the source lacks"
	ruleNumber     Rule = "number that the source lacks"
	ruleMail       Rule = "mail address that the source lacks"
	ruleAddress    Rule = "URL that the source lacks"
	ruleHidden     Rule = "invisible characters"
	ruleModel      Rule = "speaks to a model"
	ruleLanguage   Rule = "another language"
	rulePath       Rule = "path that the source lacks"
	ruleProper     Rule = "name that the source lacks"
	rulePromise    Rule = "promise that the source does not make"
	ruleEffect     Rule = "effect that the source lacks"
	ruleLoop       Rule = "goes round in circles"
	ruleTemplate   Rule = "no request of a user"
	ruleMeaning    Rule = "about something else"
	ruleKind       Rule = "another kind of value"
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

// Check returns the violations of an answer, in a fixed order.
func Check(a *prompts.Answer, s *Source) []Violation {
	c := checker{source: s}
	for _, p := range a.Parameters {
		c.told = append(c.told, schema.Parameter{Name: p.Name, Type: p.Type, Description: p.Description})
	}
	c.parameters(a.Parameters)
	c.legible("description", a.Description, maxDescription)
	c.claims("description", a.Description)
	if unrelated := c.sharesTooLittle(a.Description); unrelated != "" {
		c.add(ruleMeaning, "description", unrelated)
	}
	c.legible("response", a.Response, maxResponse)
	c.claims("response", a.Response)
	if a.Response != "" && !prose(a.Response, 1) {
		c.add(ruleStructure, "response", a.Response)
	}
	if len(a.Examples) == 0 || len(a.Examples) > prompts.MaxExamples {
		c.add(ruleCount, "examples", fmt.Sprintf("%d, not 1 to %d", len(a.Examples), prompts.MaxExamples))
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

// Accept returns the usable fields of an answer, and the violations of the others.
func Accept(a *prompts.Answer, s *Source) (*prompts.Answer, []Violation) {
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
	out := &prompts.Answer{Description: taken("description", a.Description), Response: taken("response", a.Response)}
	for _, p := range a.Parameters {
		where := parameterAt(p.Name)
		if refused[where] {
			continue
		}
		p.Type, p.Description, p.Example = taken(where+"/type", p.Type), taken(where+"/description", p.Description), taken(where+"/example", p.Example)
		if refused[where+"/required"] {
			p.Required = nil
		}
		if !s.stated.Names || p != (prompts.Parameter{Name: p.Name}) {
			out.Parameters = append(out.Parameters, p)
		}
	}
	for i, e := range a.Examples {
		if !refused[exampleAt(i)] && len(out.Examples) < prompts.MaxExamples {
			out.Examples = append(out.Examples, e)
		}
	}
	return out, found
}

func parameterAt(name string) string { return "parameters/" + text.Truncate(name, 80) }
func exampleAt(i int) string         { return fmt.Sprintf("examples/%d", i) }

type checker struct {
	source *Source
	told   []schema.Parameter // of the answer, for a source that lists none
	found  []Violation
}

func (c *checker) add(rule Rule, where, what string) {
	c.found = append(c.found, Violation{rule, where, text.Truncate(what, 80)})
}

// parameters checks the parameters of an answer, and the texts about each.
func (c *checker) parameters(said []prompts.Parameter) {
	seen := map[string]bool{}
	for i := range said {
		p := &said[i]
		where := parameterAt(p.Name)
		if seen[p.Name] {
			c.add(ruleTwice, where, "")
		}
		seen[p.Name] = true
		var fact *schema.Parameter // the parameter of the source
		if i := slices.IndexFunc(c.source.doc.Parameters, func(q schema.Parameter) bool { return q.Name == p.Name }); i >= 0 {
			fact = &c.source.doc.Parameters[i]
		}
		c.facts(where, p, fact)

		about := where + "/description"
		c.legible(about, p.Description, maxParameter)
		// Example values do not count as claims, except for addresses.
		claimed := exampleOf.ReplaceAllString(p.Description, "$1") + " " + strings.Join(address.FindAllString(p.Description, -1), " ")
		c.claims(about, strings.TrimSpace(claimed))
		if fact != nil && p.Description != "" {
			if !fits(p.Description, fact) && !c.source.isOwn(p.Description, fact) || c.source.isAnothers(p.Description, fact) {
				c.add(ruleKind, about, p.Description)
			}
		}
		if p.Description != "" && provenance.Fold(p.Description) == provenance.Fold(c.source.doc.Name) {
			c.add(ruleName, about, p.Description)
		}
		c.value(where+"/example", p)
	}
	if len(said) > schema.MaxParameters {
		c.add(ruleCount, "parameters", fmt.Sprint(len(said)))
	}
}

// facts checks name, type and required flag against the parameter of the source, which is nil
// if the source does not list it.
func (c *checker) facts(where string, p *prompts.Parameter, fact *schema.Parameter) {
	if fact == nil {
		if c.source.stated.Names || p.Name == "" || len(p.Name) > schema.MaxName || !c.source.says(p.Name) {
			c.add(ruleUnknown, where, "")
		}
		if p.Type != "" && family(p.Type) == "" {
			c.add(ruleType, where+"/type", p.Type)
		}
		return
	}
	if !c.source.stated.Types && p.Type != "" && family(fact.Type) != "" && family(fact.Type) != family(p.Type) && !strings.EqualFold(fact.Type, p.Type) {
		c.add(ruleType, where+"/type", p.Type)
	}
	if p.Required != nil && *p.Required != fact.Required && (c.source.stated.Required || !fact.Required) {
		c.add(ruleRequired, where+"/required", fmt.Sprint(*p.Required))
	}
}

// claims checks a text about the tool: it must not invent anything.
func (c *checker) claims(where, said string) {
	if refusal.MatchString(said) {
		c.add(ruleModel, where, said)
	}
	c.literals(where, said, nil)
	language := languageOf(said, c.source.language())
	plain := c.source.withoutSpelledOut(bold.ReplaceAllString(address.ReplaceAllString(said, " "), " "))
	for _, name := range namesIn(plain, language) {
		if !c.source.names(name) {
			c.add(ruleProper, where, name)
		}
	}
	for _, m := range promises.FindAllStringSubmatch(said, -1) {
		if !c.source.says(m[1]) {
			c.add(rulePromise, where, m[1])
		}
	}
	if where != "description" { // other texts may speak of past effects
		return
	}
	for kind, word := range claimedIn(spaced(negated.ReplaceAllString(said, " ")), language) {
		if !c.source.effects[kind] {
			c.add(ruleEffect, where, word)
		}
	}
}

// legible checks the form of a text.
func (c *checker) legible(where, said string, limit int) {
	if len(said) > limit {
		c.add(ruleLength, where, fmt.Sprint(len(said)))
	}
	if strings.ContainsFunc(said, isInvisible) {
		c.add(ruleHidden, where, "")
	}
	if injection.Score(said) >= injection.Threshold || voice.MatchString(said) || instructed.Repeats(said, leastEcho) {
		c.add(ruleModel, where, said)
	}
	listed := func(p schema.Parameter) bool { // a value may look like a placeholder
		return slices.ContainsFunc(p.Enum, func(v string) bool { return strings.Trim(v, `"`) == strings.Trim(said, `"`) })
	}
	if blank.MatchString(said) && !slices.ContainsFunc(c.source.doc.Parameters, listed) {
		c.add(ruleEmpty, where, said)
	}
	if jsonText.MatchString(said) && !strings.HasSuffix(where, "/example") {
		c.add(ruleStructure, where, said)
	}
	if loops(said) {
		c.add(ruleLoop, where, said)
	}
}

// example checks a user request. Its values are made up, so each needs a parameter that
// can take it; its words must not come from the interface.
func (c *checker) example(where, said string) {
	c.legible(where, said, maxExample)
	if strings.TrimSpace(said) == "" {
		c.add(ruleEmpty, where, "")
	}
	own := c.source.topic.Stems(text.Split(c.source.doc.Name))
	for _, m := range compound.FindAllString(said, -1) {
		parts := c.source.topic.Stems(text.Split(m))
		named := within(parts, own) && (within(own, parts) || strings.HasPrefix(said, m))
		if len(parts) > 1 && named { // a user does not know the name of the tool
			c.add(ruleName, where, m)
		}
	}
	if !prose(said, 2) {
		c.add(ruleStructure, where, said)
	}
	if folded := provenance.Fold(said); template.MatchString(said) || folded != "" && strings.Contains(provenance.Fold(c.source.doc.Description), folded) {
		c.add(ruleTemplate, where, said)
	}
	takers := c.source.doc.Parameters
	if !c.source.stated.Names {
		takers = append(takers[:len(takers):len(takers)], c.told...)
	}
	c.literals(where, said, takers)
}

// value checks the example of a parameter.
func (c *checker) value(where string, p *prompts.Parameter) {
	c.legible(where, p.Example, maxValue)
	fact := schema.Parameter{Name: p.Name, Type: p.Type, Description: p.Description}
	for _, q := range c.source.doc.Parameters {
		if q.Name == p.Name {
			fact.Type, fact.Enum = q.Type, q.Enum
			fact.Description += " " + q.Description
		}
	}
	if p.Example != "" && !holds(&fact, p.Example) {
		c.add(ruleKind, where, p.Example)
	}
	c.literals(where, p.Example, []schema.Parameter{fact})
}

// literals checks the values of a text: the source has each value, or a taker takes values of
// its kind.
func (c *checker) literals(where, said string, takers []schema.Parameter) {
	takes := func(kind func(*schema.Parameter) bool) bool {
		return slices.ContainsFunc(takers, func(p schema.Parameter) bool { return kind(&p) })
	}
	for _, m := range email.FindAllString(said, -1) {
		if !c.source.says(m) && !takes(takesText) {
			c.add(ruleMail, where, m)
		}
	}
	said = email.ReplaceAllString(said, " ")
	for _, m := range address.FindAllString(said, -1) {
		if isHost(m) && !c.source.says(strings.TrimRight(m, ".,;:!?")) && !takes(takesText) {
			c.add(ruleAddress, where, m)
		}
	}
	said = address.ReplaceAllString(said, " ")
	// A number, a date or a name can be the value of a parameter that is more than a switch.
	takesValue := func(p *schema.Parameter) bool {
		typ := rules.TypeName(p.Type)
		return len(p.Enum) == 0 && typ != "boolean" && typ != "null"
	}
	if takes(takesValue) || len(takers) == 0 && !c.source.stated.Names && strings.HasPrefix(where, "examples/") {
		return
	}
	for _, m := range path.FindAllStringSubmatch(said, -1) {
		if !c.source.says(strings.TrimRight(m[1], ".,;:!?")) {
			c.add(rulePath, where, m[1])
		}
	}
	for _, m := range joined.FindAllString(said, -1) {
		if !c.source.names(m) {
			c.add(ruleIdentifier, where, m)
		}
	}
	said = joined.ReplaceAllString(said, " ")
	for _, n := range numbersIn(bare(said)) {
		if !c.source.numbers[n.value] {
			c.add(ruleNumber, where, n.text)
		}
	}
	for _, n := range numberWordsIn(bare(said)) {
		if n.value != "2" && !c.source.numbers[n.value] && !c.source.counts[n.value] {
			c.add(ruleNumber, where, n.text)
		}
	}
}

// language checks that each text is in the requested language, as far as its language can be
// told.
func (c *checker) language(a *prompts.Answer) {
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
			c.add(ruleLanguage, where, is+", not "+want)
		}
	}
}
