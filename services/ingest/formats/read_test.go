package formats

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// endless gives prefix, then n units, numbered downwards.
type endless struct {
	prefix, unit string
	n            int
	read         int64 // bytes given so far
	rest         []byte
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		switch {
		case e.prefix != "":
			e.rest, e.prefix = []byte(e.prefix), ""
		case e.n > 0:
			e.n--
			e.rest = fmt.Appendf(nil, e.unit, e.n)
		default:
			return 0, io.EOF
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	e.read += int64(n)
	return n, nil
}

// TestReadHoldsLittle checks that line-based input and arrays are read no
// further than what has been handed over.
func TestReadHoldsLittle(t *testing.T) {
	line := `{"id":"%07d","documentation":{"name":"a","inputSchema":{"type":"object"}}}`
	for name, in := range map[string]*endless{
		"lines": {unit: line + "\n", n: 1_000_000},
		"array": {prefix: "[1", unit: "," + line, n: 1_000_000},
	} {
		items := 0
		for _, p := range Read(in, Options{}) {
			if p == nil {
				items++
			}
			if ahead := in.read - int64(items*len(fmt.Sprintf(line, 0))); ahead > 4*sniff {
				t.Fatalf("%s: %d bytes ahead after %d items", name, ahead, items)
			}
			if items == 5_000 {
				break
			}
		}
		if items != 5_000 {
			t.Errorf("%s: %d items", name, items)
		}
	}
}

func TestReadStopsWhenAsked(t *testing.T) {
	tool := `{"name":"a","inputSchema":{}}`
	for _, text := range []string{
		tool + "\n" + tool + "\n" + tool, "[" + tool + "," + tool + "]", `{"tools":[` + tool + `,7]}`, "1 2", "[7,8]",
		document(`{"/a":{"get":{},"put":{}},"/b":{"$ref":"x"}}`, `{}`), document(`{"/b":{"$ref":"x"},"/c":{"$ref":"x"}}`, `{}`), "def f(x):\n pass\ndef g(x):\n pass\n",
	} {
		n := 0
		for range Read(strings.NewReader(text), Options{}) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: nothing came", text)
		}
	}
}

func zipped(t testing.TB, parts ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for _, p := range parts {
		if _, err := z.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestGzip(t *testing.T) {
	tool := `{"name":"a","inputSchema":{}}`
	zeros := strings.Repeat("\x00", 1<<20)
	blank := strings.Repeat("\n", 1<<20)
	small := Limits{File: 1 << 20, Stream: 4 << 20}
	for _, c := range []struct {
		name   string
		data   []byte
		opt    Options
		items  int
		reason string
	}{
		{"a tool", zipped(t, tool), Options{}, 1, ""},
		{"lines", zipped(t, tool, "\n", tool), Options{Source: "x.jsonl.gz"}, 2, ""},
		{"a bomb", zipped(t, zeros, zeros, zeros), Options{Limits: small}, 0, Decompressed},
		{"a bomb of space", zipped(t, blank, blank, blank, blank, blank), Options{Limits: small}, 0, Decompressed},
		{"a bomb of lines", zipped(t, tool, blank, blank, blank, blank, blank), Options{Limits: small, Lines: true}, 1, Decompressed},
		{"a bomb in an array", zipped(t, "[\"", strings.Repeat("x", 1<<20), "x"), Options{Limits: small}, 0, Decompressed},
		{"cut off", zipped(t, tool)[:30], Options{}, 0, Unreadable},
		{"not gzip", []byte{0x1f, 0x8b, 1, 2, 3}, Options{}, 0, Unreadable},
		{"nothing in it", zipped(t, ""), Options{}, 0, jsondoc.Empty},
	} {
		t.Run(c.name, func(t *testing.T) {
			items, problems := Parse(c.data, c.opt)
			if len(items) != c.items || (c.reason == "") != (len(problems) == 0) || c.reason != "" && problems[len(problems)-1].Reason != c.reason {
				t.Errorf("have %d items and %v", len(items), problems)
			}
		})
	}
}

func TestLongLines(t *testing.T) {
	tool := `{"name":"a","inputSchema":{}}`
	long := `{"name":"b","x":"` + strings.Repeat("x", 300_000) + `"}`
	items, problems := Parse([]byte(tool+"\n"+long+"\n"+tool), Options{Lines: true, Limits: Limits{File: 200_000}})
	if len(items) != 2 || len(problems) != 1 || problems[0].Reason != jsondoc.TooLarge || problems[0].Line != 2 || items[1].Line != 3 {
		t.Errorf("a line over the limit is not skipped alone: %d items, %v", len(items), problems)
	}
	items, problems = Parse([]byte(long+"\n"+tool+"\n"), Options{})
	if len(items) != 2 || len(problems) != 0 || items[1].Line != 2 {
		t.Errorf("JSON Lines with a long first line are not recognised: %d items, %v", len(items), problems)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("the cable is out")
	tool := `{"name":"a","inputSchema":{}}`
	for _, start := range []string{"", tool, tool + "\n", "[" + tool + ",", "[" + tool, "some prose"} {
		r := io.MultiReader(strings.NewReader(start), &failing{broken})
		var last *Problem
		for _, p := range Read(r, Options{}) {
			last = p
		}
		if last == nil || last.Reason != Unreadable || !errors.Is(last, broken) {
			t.Errorf("after %q: have %v", start, last)
		}
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"name":"a","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}`,
		`{"jsonrpc":"2.0","result":{"tools":[{"name":"a"}]}}`,
		document(`{"/a":{"get":{"parameters":[{"$ref":"#/components/parameters/P"}]},"$ref":"#/paths/~1b"},"/b":{"put":{}}}`, `{"parameters":{"P":{"name":"p","in":"query"}}}`),
		"openapi: 3.0.0\npaths:\n  /a: &a\n    get: {}\n  /b: *a\n",
		`{"type":"function","function":{"name":"f"}}` + "\n" + `{"id":"x","op":"delete"}`,
		`[{"tool_name":"t","api_list":[{"name":"x","required_parameters":[]}]}, "def f(a): pass"]`,
		"@x\ndef f(a,\n):\n  '''d'''\nclass A: pass\n", "# Title\ntext", `{"id":"a","documentation":"x"}`, "\x1f\x8b", `[1,"]",{}`,
		`{"domain":"a","framework":"b","functionality":"c","api_call":"d"}`,
		card03, card10, skillFile, hotel, sdl, introspected17, shopProto, tarred(f, "openapi.yaml", petsRoot, "paths/pets.yaml", petsPath), "\n\x0f\n\aa.proto\x12\x04shop", `{"type":"web_search"}`, `{"lc":1,"id":["tools"],"repr":"Tool(name='x')"}`,
	} {
		f.Add([]byte(s), "x.json", "")
		f.Add([]byte(s), "providers.jsonl", "")
		f.Add([]byte(s), "x.yaml", "an/id")
	}
	f.Fuzz(func(t *testing.T, data []byte, source, id string) {
		opt := Options{Source: source, ID: id, Limits: Limits{File: 1 << 16, Stream: 1 << 16}}
		items, problems := Parse(data, opt)
		if len(items)+len(problems) == 0 {
			t.Fatalf("%q: nothing is said of it", data)
		}
		for _, it := range items {
			checkItem(t, it)
			if _, err := jsondoc.Decode(it.Raw, jsondoc.Limits{Bytes: 1 << 22, Depth: 128}); err != nil && !it.Delete {
				t.Fatalf("%q: raw document %q: %v", data, it.Raw, err)
			}
		}
		for _, p := range problems {
			if p.Reason == "" || p.Error() == "" {
				t.Fatalf("%q: a problem without a reason: %+v", data, p)
			}
		}
		again, _ := Parse(data, opt)
		if fmt.Sprint(lines(again, nil)) != fmt.Sprint(lines(items, nil)) {
			t.Fatalf("%q is not read alike twice", data)
		}
	})
}

// The lines of an exported tenant that are no documents are passed over; one with more in
// it is judged as any other.
func TestPartsOfAnExportArePassedOver(t *testing.T) {
	for in, want := range map[string][2]int{
		`{"part":"tenant","value":{}}` + "\n" + `{"id":"a","kind":"tool","document":{"name":"a","inputSchema":{"type":"object"}}}` + "\n" + `{"part":"search","value":1}` + "\n": {1, 0},
		`{"part":"tenant","value":{}}`: {0, 0},
		`{"part":"tenant","value":{},"more":1}` + "\n" + `{"part":"search","value":1}` + "\n": {0, 1},
	} {
		items, problems := 0, 0
		for _, p := range Read(strings.NewReader(in), Options{Source: "export.jsonl"}) {
			if p == nil {
				items++
			} else {
				problems++
			}
		}
		if got := [2]int{items, problems}; got != want {
			t.Errorf("%s: %d items and problems, want %d", in, got, want)
		}
	}
}
