package schema

import "fmt"

// The limits of a standardized document, in bytes and counts. They bound what
// one document can cost; standardizing stays well below them.
const (
	MaxName          = 1 << 10
	MaxDescription   = 16 << 10
	MaxTags          = 64
	MaxParameters    = 1024
	MaxParameterText = 4 << 10
	MaxEnum          = 256
	MaxExamples      = 32
	MaxExample       = 4 << 10
	MaxFlags         = 64
)

// Validate checks a document against its limits. The error is an *Invalid.
func (d *Document) Validate() error {
	if isBlank(d.Name) {
		return invalid("/name", d.Name, "must not be empty")
	}
	if err := d.checkTexts(); err != nil {
		return err
	}
	if d.Quality != QualityGood && d.Quality != QualityLow {
		return invalid("/quality", string(d.Quality), "must be absent or %q", QualityLow)
	}
	if err := checkList("/tags", d.Tags, MaxTags, MaxName); err != nil {
		return err
	}
	if err := checkList("/examples", d.Examples, MaxExamples, MaxExample); err != nil {
		return err
	}
	if err := checkList("/flags", d.Flags, MaxFlags, MaxID); err != nil {
		return err
	}
	if err := checkCount("/parameters", len(d.Parameters), MaxParameters); err != nil {
		return err
	}
	for i := range d.Parameters {
		if err := d.Parameters[i].validate(fmt.Sprintf("/parameters/%d", i)); err != nil {
			return err
		}
	}
	return d.Standardized.validate("/standardized")
}

func (d *Document) checkTexts() error {
	for _, text := range []struct {
		path, value string
		limit       int
	}{
		{"/name", d.Name, MaxName},
		{"/title", d.Title, MaxName},
		{"/description", d.Description, MaxDescription},
		{"/response", d.Response, MaxDescription},
		{"/language", d.Language, MaxID},
	} {
		if err := checkText(text.path, text.value, text.limit); err != nil {
			return err
		}
	}
	return nil
}

func (p *Parameter) validate(path string) error {
	if p.Name == "" {
		return invalid(path+"/name", "", "must not be empty")
	}
	for _, text := range []struct {
		name, value string
		limit       int
	}{
		{"name", p.Name, MaxName},
		{"type", p.Type, MaxName},
		{"description", p.Description, MaxParameterText},
		{"default", p.Default, MaxParameterText},
		{"example", p.Example, MaxParameterText},
	} {
		if err := checkText(path+"/"+text.name, text.value, text.limit); err != nil {
			return err
		}
	}
	return checkList(path+"/enum", p.Enum, MaxEnum, MaxParameterText)
}

// checkList checks a list of texts.
func checkList(path string, list []string, count, limit int) error {
	if err := checkCount(path, len(list), count); err != nil {
		return err
	}
	for i, s := range list {
		if err := checkText(fmt.Sprintf("%s/%d", path, i), s, limit); err != nil {
			return err
		}
	}
	return nil
}
