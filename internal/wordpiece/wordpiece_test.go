package wordpiece

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
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
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return tok
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
	compare(t, parsed(t, filepath.Join(folder, "minilm", "tokenizer.json")), r.Texts, r.Minilm, DefaultMaxTokens)
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
	tok, err := ParseVocabulary(vocabularyFile(t), false)
	if err != nil {
		t.Fatal(err)
	}
	r := answers(t)
	compare(t, tok, r.Texts, r.Small, DefaultMaxTokens)
}

func TestCapitalsAreKept(t *testing.T) {
	tok, err := ParseVocabulary([]byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nTool\ntool\ncafé\n"), true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Append(nil, "Tool tool TOOL café cafe", 64), []int64{2, 5, 6, 1, 7, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestEveryCodePoint compares the words around every code point there is. The
// vocabulary of a block is its runes, as the begin of a word and within one, so
// that ids spell the words.
func TestEveryCodePoint(t *testing.T) {
	var want map[string][]string
	raw, err := os.ReadFile("testdata/codepoints.json")
	if err == nil {
		err = json.Unmarshal(raw, &want)
	}
	if err != nil || len(want) != 4 {
		t.Fatal(len(want), err)
	}
	variants := map[string]Tokenizer{
		"uncased": {clean: true, chinese: true, accents: true, lower: true},
		"cased":   {clean: true, chinese: true},
		"lower":   {clean: true, lower: true},
		"raw":     {chinese: true, accents: true},
	}
	for block := range len(want["cased"]) {
		if testing.Short() && block%16 > 2 {
			continue
		}
		from := rune(block) << 12
		sp := newSpeller(from)
		for name, tok := range variants {
			if name != "uncased" && block >= 0x30 && block%16 != 0 {
				continue // nothing there is written, spaced or lowered
			}
			if got := sp.hash(tok, from); got != want[name][block] {
				t.Errorf("%s: words of the runes from %#x on are not the reference's", name, from)
			}
		}
	}
}

// speller has the vocabulary of a block and turns ids back into words.
type speller struct {
	pieces, tails map[string]int64
	ids           map[rune]int64
	runes         []rune
}

func newSpeller(from rune) *speller {
	sp := &speller{pieces: map[string]int64{}, tails: map[string]int64{}, ids: map[rune]int64{}}
	for _, r := range "abiq\u0307\u0345\u302e" {
		sp.learn(r)
	}
	for r := from; r < from+0x1000; r++ {
		sp.learn(r)
	}
	return sp
}

// learn puts what can become of r into the vocabulary.
func (sp *speller) learn(r rune) {
	results := []rune{r, toLower(r)}
	for _, x := range decompose(r) {
		results = append(results, x, toLower(x))
	}
	if isHangul(r) {
		results = append(results, []rune(norm.NFD.String(string(r)))...)
	}
	for _, x := range results {
		if _, ok := sp.ids[x]; ok {
			continue
		}
		id := int64(len(sp.runes)) * 2
		sp.ids[x], sp.runes = id, append(sp.runes, x)
		sp.pieces[string(x)], sp.tails[string(x)] = id, id+1
	}
}

// hash is the one of record.py over the words around the runes of the block.
func (sp *speller) hash(tok Tokenizer, from rune) string {
	tok.pieces, tok.tails, tok.longest, tok.wordRunes, tok.unknown = sp.pieces, sp.tails, utf8.UTFMax, 100, -1
	h := sha256.New()
	var ids []int64
	for r := from; r < from+0x1000; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		c := string(r)
		ids = tok.Append(ids[:0], "a"+c+"b "+c+" "+c+c+" q\u0345"+c+"\u302e"+c, 64)
		h.Write(sp.words(ids[1 : len(ids)-1]))
	}
	return hex.EncodeToString(h.Sum(nil))[:8]
}

func (sp *speller) words(ids []int64) []byte {
	var b []byte
	for _, id := range ids {
		if id < 0 {
			return []byte("a word that the vocabulary does not spell\n")
		}
		if id%2 == 0 && len(b) > 0 {
			b = append(b, ' ')
		}
		b = utf8.AppendRune(b, sp.runes[id/2])
	}
	return append(b, '\n')
}

func TestDamagedFilesAreRefused(t *testing.T) {
	good, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
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

func TestNothingIsAllocatedBesideTheIDs(t *testing.T) {
	tok, ids := small(t), make([]int64, 0, DefaultMaxTokens)
	for _, text := range []string{"Get the weather forecast for a city.", "größer naïve 東京の天気 한국어", strings.Repeat("word", 25)} {
		if n := testing.AllocsPerRun(20, func() { ids = tok.Append(ids[:0], text, DefaultMaxTokens) }); n != 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
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

func FuzzParse(f *testing.F) {
	good, err := os.ReadFile("testdata/tokenizer.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:300])
	f.Add([]byte(`{"model":{"type":"WordPiece","unk_token":"u","max_input_chars_per_word":9,"vocab":{"u":0}},"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":{"type":"BertProcessing","sep":["u",0],"cls":["u",0]}}`))
	f.Fuzz(func(t *testing.T, file []byte) {
		tok, err := Parse(file)
		if err != nil {
			return
		}
		for _, id := range tok.Append(nil, "Get the u [SEP] naïve 東京", 32) {
			if id < 0 || id >= int64(tok.Size()) {
				t.Fatalf("id %d of %d", id, tok.Size())
			}
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, text := range []string{
		"Get the weather forecast for a city, by name or by its coordinates, for up to seven days.",
		"Größer, naïve café: Zürich, Łódź, Đà Nẵng, 東京の天気を教えて",
	} {
		b.Run(fmt.Sprint(len(text)), func(b *testing.B) {
			tok, ids := small(b), make([]int64, 0, DefaultMaxTokens)
			b.ReportAllocs()
			for b.Loop() {
				ids = tok.Append(ids[:0], text, DefaultMaxTokens)
			}
		})
	}
}
