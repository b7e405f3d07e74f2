package static

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func small(t testing.TB) *Model {
	t.Helper()
	return check.Value(Parse(string(encoded(t, table()))))(t)
}

func TestAppend(t *testing.T) {
	m := small(t)
	tests := []struct {
		text string
		want []float32
	}{
		{"", nil},
		{"?!", nil},
		{"Good", []float32{1, 0, 0, 0}},
		{"bad bad", []float32{-1, 0, 0, 0}},
		{"good bad", nil}, // nothing is left to point anywhere
		{"2024", []float32{0, 1, 0, 0}},
		{"good 1999", unit(100, 63.5, 0, 0)},
		{"good good 1999", unit(100*float64(Weight(2)), 63.5, 0, 0)},
		{"other", nil},
		{"other good 天", []float32{1, 0, 0, 0}},
	}
	for _, tt := range tests {
		got := m.Append(nil, tt.text)
		if !near(got, tt.want) {
			t.Errorf("%q: got %v, want %v", tt.text, got, tt.want)
		}
	}
	if got := m.Append([]float32{7}, "good"); !near(got, []float32{7, 1, 0, 0, 0}) {
		t.Errorf("appended: %v", got)
	}
}

func unit(v ...float64) []float32 {
	var square float64
	for _, x := range v {
		square += x * x
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(x / math.Sqrt(square))
	}
	return out
}

func near(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Abs(float64(x-y)) < 1e-5 })
}

// wide returns a model of ordinary size: words "aaa" to "zzz" and random rows.
func wide(t testing.TB) *Model {
	t.Helper()
	const d = 256
	dice := rand.New(rand.NewPCG(1, 2))
	tab := &Table{Info: Info{Name: "wide", Dimensions: d}}
	for i := range 26 * 26 * 26 {
		tab.Words = append(tab.Words, fmt.Sprintf("%c%c%c", 'a'+i/676, 'a'+i/26%26, 'a'+i%26))
	}
	tab.Info.Words = len(tab.Words)
	tab.Rows = make([]int8, len(tab.Words)*d)
	for i := range tab.Rows {
		tab.Rows[i] = int8(dice.IntN(255) - 127)
	}
	tab.Scales = slices.Repeat([]float32{0.01}, len(tab.Words))
	return check.Value(Parse(string(encoded(t, tab))))(t)
}

// A text with a known word has a unit vector, which depends neither on the order of its words
// nor on case.
func TestEmbedAnything(t *testing.T) {
	m := wide(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,9}|[0-9]{1,5}|[а-я]{2,6}|[一-十]{1,3}`), 1, 12).Draw(t, "words")
		words = append(words, "abc")
		v := m.Append(nil, strings.Join(words, " "))
		if len(v) != m.Dimensions() || math.Abs(float64(length(v))-1) > 1e-5 {
			t.Fatalf("%q: %d dimensions, length %v", words, len(v), length(v))
		}
		slices.Reverse(words)
		if other := m.Append(nil, strings.ToUpper(strings.Join(words, ", "))); !slices.Equal(v, other) {
			t.Fatalf("%q means something else in reverse", words)
		}
	})
}

func length(v []float32) float64 {
	var square float64
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	return math.Sqrt(square)
}

func TestEmbedEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := small(t).Embed(ctx, []string{"good"}); err == nil {
		t.Error("no error")
	}
}

func TestConcurrentCallsDoNotMeet(t *testing.T) {
	m := wide(t)
	texts := []string{"abc def", "xyz unknown word", "the end 2024", ""}
	want := check.Value(m.Embed(context.Background(), texts))(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				got, err := m.Embed(context.Background(), texts)
				if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
					t.Errorf("other vectors beside other calls (%v)", err)
					return
				}
			}
		})
	}
	all.Wait()
}

func TestKnown(t *testing.T) {
	m := small(t)
	all, some, less := m.Known("good"), m.Known("good other"), m.Known("good other another")
	if all != 1 || !(some < 1 && less < some && less > 0) || m.Known("other") != 0 {
		t.Errorf("known %v, %v with an unknown word, %v with two, %v of nothing else", all, some, less, m.Known("other"))
	}
}
