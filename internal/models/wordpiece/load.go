package wordpiece

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// description is the part of a tokenizer.json that matters here. Truncation
// and padding are the caller's to choose and are not read.
type description struct {
	AddedTokens []struct {
		ID         int64  `json:"id"`
		Content    string `json:"content"`
		SingleWord bool   `json:"single_word"`
		Normalized bool   `json:"normalized"`
	} `json:"added_tokens"`
	Normalizer struct {
		Type         string `json:"type"`
		CleanText    bool   `json:"clean_text"`
		Chinese      bool   `json:"handle_chinese_chars"`
		StripAccents *bool  `json:"strip_accents"` // null: as lowercase
		Lowercase    bool   `json:"lowercase"`
	} `json:"normalizer"`
	PreTokenizer struct {
		Type string `json:"type"`
	} `json:"pre_tokenizer"`
	PostProcessor struct {
		Type          string              `json:"type"`
		Single        []map[string]marker `json:"single"`
		SpecialTokens map[string]struct {
			IDs []int64 `json:"ids"`
		} `json:"special_tokens"`
	} `json:"post_processor"`
	Padding *struct {
		ID int64 `json:"pad_id"`
	} `json:"padding"`
	Model struct {
		Type      string           `json:"type"`
		Unknown   string           `json:"unk_token"`
		Prefix    string           `json:"continuing_subword_prefix"`
		WordRunes int              `json:"max_input_chars_per_word"`
		Vocab     map[string]int64 `json:"vocab"`
	} `json:"model"`
}

// marker is a step of a template: a special token or the text itself.
type marker struct {
	ID string `json:"id"`
}

// Parse reads a tokenizer.json of the BERT kind: WordPiece behind BERT's
// normalizer and splitter. A file that asks for anything else is refused, as
// its ids would be wrong in silence.
func Parse(file []byte) (*Tokenizer, error) {
	var d description
	if err := json.Unmarshal(file, &d); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	n := d.Normalizer
	if d.Model.Type != "WordPiece" || n.Type != "BertNormalizer" || d.PreTokenizer.Type != "BertPreTokenizer" {
		return nil, fmt.Errorf("tokenizer.json: model %q, normalizer %q, pre-tokenizer %q: only WordPiece with BertNormalizer and BertPreTokenizer is read",
			d.Model.Type, n.Type, d.PreTokenizer.Type)
	}
	t := &Tokenizer{clean: n.CleanText, chinese: n.Chinese, lower: n.Lowercase, accents: n.Lowercase, wordRunes: d.Model.WordRunes}
	if n.StripAccents != nil {
		t.accents = *n.StripAccents
	}
	if err := t.setVocabulary(d.Model.Vocab, d.Model.Prefix, d.Model.Unknown); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if err := errors.Join(t.setAdded(&d), t.setMarks(&d), t.check()); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

// ParseVocabulary reads a vocab.txt, a piece a line, its number from 0 being
// the id, with the special tokens of BERT. Such a file does not say whether
// the model knows capitals: keepCase keeps them, and accents.
func ParseVocabulary(file []byte, keepCase bool) (*Tokenizer, error) {
	vocabulary := map[string]int64{}
	lines := bufio.NewScanner(bytes.NewReader(file))
	for id := int64(0); lines.Scan(); id++ {
		vocabulary[strings.TrimRight(lines.Text(), "\r")] = id
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("vocab.txt: %w", err)
	}
	t := &Tokenizer{clean: true, chinese: true, lower: !keepCase, accents: !keepCase, wordRunes: 100}
	if err := t.setVocabulary(vocabulary, "##", "[UNK]"); err != nil {
		return nil, fmt.Errorf("vocab.txt: %w", err)
	}
	for _, text := range []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"} {
		id, ok := vocabulary[text]
		if !ok {
			return nil, fmt.Errorf("vocab.txt: it lacks %s", text)
		}
		t.add(text, id)
	}
	t.open, t.close, t.padding = vocabulary["[CLS]"], vocabulary["[SEP]"], vocabulary["[PAD]"]
	t.order()
	return t, t.check()
}

func (t *Tokenizer) setVocabulary(vocabulary map[string]int64, prefix, unknown string) error {
	t.pieces, t.tails = vocabulary, map[string]int64{}
	for text, id := range vocabulary {
		t.size = max(t.size, id+1)
		t.longest = max(t.longest, len(text))
		if id < 0 {
			return fmt.Errorf("the piece %q has the id %d", text, id)
		}
		if tail, ok := strings.CutPrefix(text, prefix); ok && tail != "" {
			t.tails[tail] = id
		}
	}
	id, ok := vocabulary[unknown]
	if !ok {
		return fmt.Errorf("the vocabulary of %d pieces lacks the unknown token %q", len(vocabulary), unknown)
	}
	t.unknown = id
	return nil
}

// setAdded takes the tokens that are looked for in raw text. Whether they
// swallow the spaces around them makes no difference, as spaces leave no id.
func (t *Tokenizer) setAdded(d *description) error {
	for _, a := range d.AddedTokens {
		if a.SingleWord || a.Normalized || a.Content == "" || a.ID < 0 {
			return fmt.Errorf("the added token %q (%d) is matched in normalized text or as a whole word, which is not supported", a.Content, a.ID)
		}
		t.add(a.Content, a.ID)
		if a.Content == "[PAD]" || a.Content == "<pad>" {
			t.padding = a.ID
		}
	}
	if d.Padding != nil {
		t.padding = d.Padding.ID
	}
	t.order()
	return nil
}

func (t *Tokenizer) add(text string, id int64) {
	t.added = append(t.added, added{text, id})
	t.size = max(t.size, id+1)
}

// order sorts the longest tokens first, which win over shorter ones.
func (t *Tokenizer) order() {
	slices.SortFunc(t.added, func(a, b added) int {
		return cmp.Or(len(b.text)-len(a.text), cmp.Compare(a.text, b.text))
	})
}

// setMarks reads the marks around every text.
func (t *Tokenizer) setMarks(d *description) error {
	p := d.PostProcessor
	if p.Type != "TemplateProcessing" || len(p.Single) != 3 {
		return fmt.Errorf("the post-processor %q of %d steps is not supported: it must put a text between two marks", p.Type, len(p.Single))
	}
	first, second := p.SpecialTokens[p.Single[0]["SpecialToken"].ID].IDs, p.SpecialTokens[p.Single[2]["SpecialToken"].ID].IDs
	if _, ok := p.Single[1]["Sequence"]; !ok || len(first) != 1 || len(second) != 1 {
		return errors.New("the template of one text is not mark, text, mark")
	}
	t.open, t.close = first[0], second[0]
	return nil
}

// check holds that every id that can come out is in range.
func (t *Tokenizer) check() error {
	for _, id := range []int64{t.open, t.close, t.padding} {
		if id < 0 || id >= t.size {
			return fmt.Errorf("a special token has the id %d of %d", id, t.size)
		}
	}
	if t.wordRunes < 1 {
		return fmt.Errorf("words of at most %d letters", t.wordRunes)
	}
	return nil
}
