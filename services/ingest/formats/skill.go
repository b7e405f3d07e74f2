package formats

import (
	"errors"
	"path"
	"strings"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
	"github.com/toolstream/toolstream/internal/tooldoc"
)

// frontMatter splits a text into the YAML between its first two lines "---" and what
// follows. Without both lines there is not any front matter.
func frontMatter(text string) (yaml, rest string, ok bool) {
	text = strings.TrimPrefix(text, "\ufeff")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return "", "", false
	}
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\r\n") == "---" {
			return rest[:at], rest[at+len(line):], true
		}
		at += len(line)
	}
	return "", "", false
}

// readSkill reads an agent skill: a SKILL.md with its name and description in front matter,
// which may hold more, and instructions after it. It reports whether the text is one.
func readSkill(s *session, text, at string, h head, several bool) bool {
	yaml, rest, ok := frontMatter(text)
	if !ok || !s.opt.mayBe(tooldoc.Skill) {
		return false
	}
	v, _, err := s.opt.decodeYAML([]byte(yaml))
	if err != nil {
		return refuseBrokenSkill(s, yaml, at, h, err)
	}
	front, _ := v.(map[string]any)
	name := strings.TrimSpace(str(front, "name"))
	if name == "" {
		name = skillFolder(s.opt.Source)
	}
	if name == "" || str(front, "description") == "" {
		return false
	}
	value := map[string]any{"front_matter": front}
	if rest = strings.TrimSpace(rest); rest != "" {
		value["instructions"] = rest
	}
	it := Item{Format: tooldoc.Skill, Kind: s.kind(h), Path: at, Name: toolName(name, name), Raw: jsondoc.Canonical(value), Hash: jsondoc.Hash(value)}
	s.finish(it, origin{head: h, local: name, several: several})
	return true
}

// skillFolder returns the name of the folder that a file SKILL.md is in.
func skillFolder(source string) string {
	folder, file := path.Split(strings.ReplaceAll(source, `\`, "/"))
	if !strings.EqualFold(file, "SKILL.md") || folder == "" {
		return ""
	}
	return strings.TrimLeft(path.Base(folder), "./")
}

// refuseBrokenSkill refuses front matter that is not YAML but has a name and a description: a description with a colon wants quotes.
func refuseBrokenSkill(s *session, yaml, at string, h head, err error) bool {
	keys := map[string]bool{}
	for line := range strings.Lines(yaml) {
		key, _, _ := strings.Cut(line, ":")
		keys[key] = true
	}
	if !keys["name"] || !keys["description"] {
		return false
	}
	p := &Problem{ID: h.id, Path: at, Reason: jsondoc.InvalidYAML, Detail: "the front matter is no YAML: " + err.Error()}
	if broken := (*jsondoc.Error)(nil); errors.As(err, &broken) && broken.Line > 0 && s.line == 0 && at == "" {
		p.Line = broken.Line + 1
	}
	s.problem(p)
	return true
}
