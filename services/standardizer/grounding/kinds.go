package grounding

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
	"github.com/toolstream/toolstream/pkg/schema"
	"github.com/toolstream/toolstream/services/standardizer/rules"
)

// kinds of values, by how a description of one begins. In a language that is not
// listed nothing is found.
var kinds = []struct {
	name   string
	begins *regexp.Regexp
}{
	{"truth", regexp.MustCompile(`(?i)^\W*(?:whether|if true|ob|indica si|si (?:el|la|les|le|se|es)|se (?:il|la|o|a|deve)|of (?:de|het|er)|czy)\s|かどうか|是否`)},
	{"count", regexp.MustCompile(`(?i)^\W*(?:how (?:many|much|loud|old|tall|heavy|fast)|(?:the )?(?:number|count) of \p{L}+s\b|(?:the )?share of|wie viele?|anzahl|combien|cuánt[oa]s?|quant[eio]s?|hoeveel|ile|kaç|(?:der|die|das|el|la|le|il|o|a|de|het) (?:preis|precio|prix|prezzo|preço|prijs|betrag|importe|montant|importo|valor|bedrag)|waga|gewicht|peso|poids)\s|の数|人数|数量`)},
	{"date", regexp.MustCompile(`(?i)^\W*(?:(?:the )?(?:\w+ )?(?:date|day|year|month)|when|(?:der|das) (?:\w+ )?(?:tag|datum|jahr)|wann|(?:el |la )?(?:día|fecha|año)|cuándo|(?:le |la )?(?:jour|date|année)|quand|(?:il |la )?(?:giorno|data|anno)|quando|de (?:dag|datum)|wanneer|dzień|data|kiedy)\s`)},
	{"text", regexp.MustCompile(`(?i)^\W*(?:the |a |an |der |die |das |el |la |le |l'|il |o |a |de |het )?(?:\p{L}+ )?(?:names?|titles?|e-?mail address(?:es)?|mail address(?:es)?|languages?|format|criterion|subject|colou?r|text|(?:telefon|phone|telefon) num\p{L}+|titel|nombre|nom|nome|título|titre|titolo|naam|nazwa|imię|adı|sprache|idioma|langue|lingua|taal|język)\b`)},
}

// kindOf returns the kind of value that a description begins with, "" if that
// cannot be told.
func kindOf(said string) string {
	for _, k := range kinds {
		if k.begins.MatchString(said) {
			return k.name
		}
	}
	return ""
}

// fits reports whether a parameter can hold a kind of value, by its type and, if
// that is a text, not by that alone.
func fits(kind string, p *schema.Parameter) bool {
	typ, detail, _ := strings.Cut(strings.ToLower(p.Type), " (")
	typ = rules.TypeName(typ)
	switch {
	case kind == "" || len(p.Enum) > 0 && kind != "count" && kind != "truth":
		return true
	case family(typ) == "boolean":
		return kind == "truth"
	case family(typ) == "number":
		return kind == "count" || kind == "date" && strings.Contains(typ, "int")
	case strings.HasPrefix(detail, "date"), typ == "date", typ == "datetime":
		return kind == "date"
	case family(typ) == "string" || family(typ) == "array":
		return kind != "truth" && kind != "count"
	}
	return true
}

// holds reports whether a parameter can hold a value, by its type.
func holds(p *schema.Parameter, value string) bool {
	typ, detail, _ := strings.Cut(strings.ToLower(p.Type), " (")
	bare := strings.Trim(value, `" `)
	_, err := strconv.ParseFloat(bare, 64)
	switch family(rules.TypeName(typ)) {
	case "number":
		return err == nil && (rules.TypeName(typ) != "integer" || !strings.Contains(bare, "."))
	case "boolean":
		return strings.EqualFold(bare, "true") || strings.EqualFold(bare, "false")
	case "string":
		if strings.HasPrefix(detail, "date") || strings.HasPrefix(typ, "date") {
			return strings.ContainsAny(bare, "-./:") && strings.ContainsAny(bare, "0123456789")
		}
		listed := func(v string) bool { return strings.Trim(v, `"`) == bare }
		return len(p.Enum) == 0 || slices.ContainsFunc(p.Enum, listed)
	}
	return true
}

// clauseEnd is where the first noun of a description ends, mostly.
var clauseEnd = regexp.MustCompile(`(?i)[,.;:(]|\s(?:of|in|on|at|for|to|by|para|pour|per|al|dla|from|with|within|which|that|where|who|whom|as|is|are|has|von|für|de|del|des|du|di|da|do|que|qui|che|van|voor|dla)\s`)

// isOwn reports whether a description has a word of its parameter's name or values.
func (s *Source) isOwn(said string, p *schema.Parameter) bool {
	words := s.topic.Stems(said)
	return slices.ContainsFunc(s.topic.Stems(text.Split(p.Name)+" "+strings.Join(p.Enum, " ")), func(w string) bool { return slices.Contains(words, w) })
}

// general are words that a description of any parameter may begin with.
var general = map[string]bool{"id": true, "name": true, "type": true, "valu": true, "number": true, "list": true, "key": true}

// isAnothers reports whether a description begins with the name of another
// parameter.
func (s *Source) isAnothers(said string, p *schema.Parameter) bool {
	head := said
	if at := clauseEnd.FindStringIndex(said); at != nil {
		head = said[:at[0]]
	}
	stems := s.topic.Stems(head)
	return rules.TypeName(p.Type) != "boolean" && slices.ContainsFunc(s.doc.Parameters, func(q schema.Parameter) bool {
		name := s.topic.Stems(text.Split(q.Name[strings.LastIndexByte(q.Name, '.')+1:]))
		return q.Name != p.Name && rules.TypeName(q.Type) != "boolean" && len(name) > 0 && len(stems) > 0 &&
			name[len(name)-1] == stems[len(stems)-1] && !general[name[len(name)-1]] && !slices.ContainsFunc(name, func(w string) bool { return !slices.Contains(stems, w) })
	})
}
