package jsondoc_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolstream/toolstream/internal/kit/jsondoc"
)

// Decode and Check have the same bounds.
func TestCheckCountsAsDecodeDoes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `1`, `"a"`, `null`, `[1,2,3]`, ` [ 1 , 2 ] `, `{"a":1,"b":[true,false,null]}`, `{"a":{"b":{"c":"d:e,[{"}}}`,
		`["\"",",","\\"]`, `[[],[],[]]`, `[{},{},{}]`, `[-1.5e+3,0]`, "[\n1,\t\"x\"\r\n]", `{"":"","k":""}`,
	} {
		for _, l := range []jsondoc.Limits{
			{Nodes: 1}, {Nodes: 2}, {Nodes: 3}, {Nodes: 4}, {Nodes: 5}, {Nodes: 6}, {Depth: 1}, {Depth: 2}, {Depth: 3}, {Elements: 1}, {Elements: 2}, {Elements: 3}, {Bytes: 2}, {Bytes: 20},
		} {
			_, want := jsondoc.Decode([]byte(text), l)
			if got := jsondoc.Check([]byte(text), l); reason(got) != reason(want) {
				t.Errorf("%s within %+v: checked %v, decoded %v", text, l, got, want)
			}
		}
	}
}

func reason(err error) string {
	if e := (*jsondoc.Error)(nil); errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

func TestCountedStopsWithinADocument(t *testing.T) {
	t.Parallel()
	long := "[" + strings.Repeat("{},", 50) + "{}]"
	short := `{"a":"[,,,,,\"","b":[1,2]}`
	for _, tt := range []struct {
		name, text string
		framing    jsondoc.Framing
		refused    bool
	}{
		{"short", short, jsondoc.Whole, false},
		{"long", long, jsondoc.Whole, true},
		{"short messages", strings.Repeat(short+"\n", 100), jsondoc.Messages, false},
		{"short messages as one document", strings.Repeat(short+"\n", 100), jsondoc.Whole, true},
		{"a long message", short + "\n" + long, jsondoc.Messages, true},
		{"short events", strings.Repeat("event: message\r\ndata: "+short+"\r\n\r\n", 100), jsondoc.Events, false},
		{"a long event", "data:" + short + "\n\ndata: " + long + "\n\n", jsondoc.Events, true},
		{"an event in many lines", strings.Repeat("data: {},\n", 50), jsondoc.Events, true},
		{"events that end with a line of CR", strings.Repeat("data: {}\n\r\n", 50), jsondoc.Events, false},
		{"other fields", strings.Repeat(": {},[],{}\nid: [[[[[[[[[[[[[[\n", 50), jsondoc.Events, false},
	} {
		for part, in := range map[string]io.Reader{"whole": strings.NewReader(tt.text), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.text))} {
			var told error
			got, err := io.ReadAll(jsondoc.Counted(in, tt.framing, jsondoc.Limits{Nodes: 20}, func(err error) { told = err }))
			if refused := reason(err) == jsondoc.TooManyNodes; refused != tt.refused || told != err {
				t.Errorf("%s, %s: error %v, told %v", tt.name, part, err, told)
			} else if !refused && string(got) != tt.text {
				t.Errorf("%s, %s: the text has changed", tt.name, part)
			}
		}
	}
}

func TestCountedReportsEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		framing jsondoc.Framing
		ended   int
	}{
		{`[{},{}]`, jsondoc.Whole, 0},
		{"{}\n[1]{\"a\":[{}]}", jsondoc.Messages, 3},
		{"{}\n{", jsondoc.Messages, 1},
		{"data: {}\n\ndata: {}\ndata: {}\r\n\r\n: nothing\n", jsondoc.Events, 2},
		{"event: a\n\n\n\n", jsondoc.Events, 3},
	} {
		for _, in := range []io.Reader{strings.NewReader(tt.text), iotest.OneByteReader(strings.NewReader(tt.text))} {
			r := jsondoc.Counted(in, tt.framing, jsondoc.Limits{}, nil)
			if _, err := io.ReadAll(r); err != nil || r.Ended() != tt.ended {
				t.Errorf("%q: %d ended, want %d: %v", tt.text, r.Ended(), tt.ended, err)
			}
		}
	}
}

func TestUnmarshalCountsFirst(t *testing.T) {
	t.Parallel()
	var many []struct{ A, B, C string }
	err := jsondoc.Unmarshal([]byte(`[{},{},{}]`), jsondoc.Limits{Elements: 2}, &many)
	if reason(err) != jsondoc.TooManyNodes || many != nil {
		t.Errorf("%v, %d decoded", err, len(many))
	}
	if err := jsondoc.Unmarshal([]byte(`[{},{}]`), jsondoc.Limits{Elements: 2}, &many); err != nil || len(many) != 2 {
		t.Errorf("%v, %d decoded", err, len(many))
	}
	if err := jsondoc.Unmarshal([]byte(`[{},{}] x`), jsondoc.Limits{}, &many); err == nil {
		t.Error("something that follows is taken")
	}
}

func BenchmarkCheck(b *testing.B) {
	text := []byte("[" + strings.Repeat(`{"name":"a tool","description":"It does what its name says, and says so at length.","n":12},`, 10_000) + "{}]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if err := jsondoc.Check(text, jsondoc.Limits{Bytes: len(text)}); err != nil {
			b.Fatal(err)
		}
	}
}
