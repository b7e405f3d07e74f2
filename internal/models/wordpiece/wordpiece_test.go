package wordpiece

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/models/modelstore"
	"github.com/toolstream/toolstream/internal/testing/check"
)

// recorded is what the reference answered: testdata/record.py.
type recorded struct {
	Texts                []string
	Small, Short, Minilm [][]int64
}

func answers(t testing.TB) recorded {
	t.Helper()
	var r recorded
	raw, err := os.ReadFile("testdata/ids.json")
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil || len(r.Texts) < 400 {
		t.Fatalf("%d texts: %v", len(r.Texts), err)
	}
	return r
}

func small(t testing.TB) *Tokenizer { return parsed(t, "testdata/tokenizer.json") }

func parsed(t testing.TB, path string) *Tokenizer {
	t.Helper()
	raw := check.Value(os.ReadFile(path))(t)
	return check.Value(Parse(raw))(t)
}

func compare(t *testing.T, tok *Tokenizer, texts []string, want [][]int64, maxTokens int) {
	t.Helper()
	wrong := 0
	for i, text := range texts {
		if got := tok.Append(nil, text, maxTokens); !slices.Equal(got, want[i]) {
			if wrong++; wrong < 10 {
				t.Errorf("%+q:\n got %v\nwant %v", text, got, want[i])
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%d of %d texts have other ids than the reference gives", wrong, len(texts))
	}
}

func TestIDsAreTheReferences(t *testing.T) {
	r := answers(t)
	compare(t, small(t), r.Texts, r.Small, DefaultMaxTokens)
}

func TestLongTextsAreCutAsTheReferenceCuts(t *testing.T) {
	r := answers(t)
	compare(t, small(t), r.Texts, r.Short, 8)
}

func TestIDsOfARealModel(t *testing.T) {
	folder := os.Getenv("TOOLSTREAM_MODELS")
	if folder == "" {
		t.Skip("TOOLSTREAM_MODELS names no folder of models; `make models` makes one")
	}
	r := answers(t)
	e := check.Value(modelstore.New(folder).Get("minilm"))(t)
	compare(t, parsed(t, e.Path(e.Tokenizer())), r.Texts, r.Minilm, DefaultMaxTokens)
}

// vocabularyFile is the small vocabulary as a vocab.txt.
func vocabularyFile(t *testing.T) []byte {
	t.Helper()
	pieces := make([]string, small(t).Size())
	for text, id := range small(t).pieces {
		pieces[id] = text
	}
	return []byte(strings.Join(pieces, "\n") + "\n")
}

func TestAVocabularyFileSaysTheSame(t *testing.T) {
	tok := check.Value(ParseVocabulary(vocabularyFile(t), false))(t)
	r := answers(t)
	compare(t, tok, r.Texts, r.Small, DefaultMaxTokens)
}

func TestCapitalsAreKept(t *testing.T) {
	tok := check.Value(ParseVocabulary([]byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nTool\ntool\ncafé\n"), true))(t)
	if got, want := tok.Append(nil, "Tool tool TOOL café cafe", 64), []int64{2, 5, 6, 1, 7, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestDamagedFilesAreRefused(t *testing.T) {
	good := check.Value(os.ReadFile("testdata/tokenizer.json"))(t)
	replace := func(from, to string) []byte {
		if !bytes.Contains(good, []byte(from)) {
			t.Fatalf("the file does not say %s", from)
		}
		return bytes.Replace(good, []byte(from), []byte(to), 1)
	}
	cases := map[string]struct {
		file []byte
		says string
	}{
		"empty":            {nil, "unexpected end"},
		"cut":              {good[:len(good)/2], "unexpected end"},
		"another kind":     {replace(`"type":"WordPiece"`, `"type":"BPE"`), `model "BPE"`},
		"other splitter":   {replace(`"BertPreTokenizer"`, `"Whitespace"`), `pre-tokenizer "Whitespace"`},
		"no marks":         {replace(`"TemplateProcessing"`, `"ByteLevel"`), `post-processor "ByteLevel"`},
		"unknown unknown":  {replace(`"unk_token":"[UNK]"`, `"unk_token":"<unk>"`), `lacks the unknown token "<unk>"`},
		"negative id":      {replace(`"the":`, `"the":-`), "has the id -"},
		"normalized added": {replace(`"normalized":false`, `"normalized":true`), "added token"},
		"wordless":         {replace(`"max_input_chars_per_word":100`, `"max_input_chars_per_word":0`), "at most 0 letters"},
	}
	for name, c := range cases {
		if _, err := Parse(c.file); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
	if _, err := ParseVocabulary([]byte("a\nb\n[UNK]\n"), false); err == nil || !strings.Contains(err.Error(), "[PAD]") {
		t.Errorf("a vocabulary without special tokens: %v", err)
	}
}

func FuzzAppend(f *testing.F) {
	for _, text := range answers(f).Texts {
		f.Add(text, 16)
	}
	f.Add("\xff\xfe broken \xe2\x82", 3)
	tok := small(f)
	f.Fuzz(func(t *testing.T, text string, maxTokens int) {
		maxTokens %= 512
		ids := tok.Append([]int64{-7}, text, maxTokens)
		if ids[0] != -7 || ids[1] != tok.open || ids[len(ids)-1] != tok.close || len(ids) > 1+max(maxTokens, 2) {
			t.Fatalf("%d ids of at most %d: %v", len(ids)-1, maxTokens, ids)
		}
		for _, id := range ids[1:] {
			if id < 0 || id >= int64(tok.Size()) {
				t.Fatalf("id %d of %d", id, tok.Size())
			}
		}
	})
}
