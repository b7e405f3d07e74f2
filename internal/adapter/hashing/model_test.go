package hashing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func embed(t testing.TB, texts ...string) [][]float32 {
	t.Helper()
	out, err := New().Embed(context.Background(), texts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func cosine(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestParaphrasesAreCloserThanOthers(t *testing.T) {
	tests := []struct{ query, near, far string }{
		{"send a message to a channel", "slack_post_message: Sends messages to channels", "Converts an amount between two currencies"},
		{"what is the weather like tomorrow", "getWeatherForecast: daily weather forecasts for a city", "cancelSubscription: cancels a plan"},
		{"translating documents", "Translate a document", "Transport a docker image"},
		{"curency convertor", "CurrencyConverter converts currencies", "Create calendar invitations"},
		{"delete the user with this id", "deleteUserById", "list orders of the shop with this filter"},
		{"résumé parser", "Parse a résumé", "Parse a spreadsheet"},
		{"天气预报", "获取天气预报", "发送电子邮件"},
	}
	for _, tt := range tests {
		t.Run(tt.query, func(t *testing.T) {
			v := embed(t, tt.query, tt.near, tt.far)
			near, far := cosine(v[0], v[1]), cosine(v[0], v[2])
			if near <= far+0.1 {
				t.Errorf("cosine to %q is %.3f, to %q %.3f", tt.near, near, tt.far, far)
			}
		})
	}
}

func TestCommonWordsAreDamped(t *testing.T) {
	v := embed(t, "please find me the invoice that I have been sent", "invoice", "please find me the thing that I have been sent")
	if cosine(v[0], v[1]) < 0.3 {
		t.Errorf("what is asked for counts %.3f beside the words around it", cosine(v[0], v[1]))
	}
	for _, w := range []string{"the", "this", "these", "those", "there", "where", "were", "have", "some", "please", "does", "like", "they"} {
		if s := string(stem([]byte(w))); !stopWord(s) {
			t.Errorf("%q, stemmed %q, is not damped", w, s)
		}
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	v := embed(t, "list all open issues", "issues open all list")
	for i := range v[0] {
		if v[0][i] != v[1][i] {
			t.Fatalf("component %d differs: %v and %v", i, v[0][i], v[1][i])
		}
	}
}

func TestTextWithoutWordsHasNoVector(t *testing.T) {
	for i, v := range embed(t, "", "   ", "!?…", "\x00\xff\xfe", "\u200b") {
		if v != nil {
			t.Errorf("text %d has a vector", i)
		}
	}
}

// The name is stored beside every vector: whoever changes what comes out has
// to change the name, or old and new vectors are compared.
func TestNameStandsForTheseVectors(t *testing.T) {
	texts := []string{"getHTTPStatus2 returns the status", "Ångström café 北京 42", "send send send an email", strings.Repeat("long", 100)}
	h := sha256.New()
	for _, v := range embed(t, texts...) {
		for _, x := range v {
			// Rounded, as the last bit may differ between processors.
			binary.Write(h, binary.LittleEndian, int32(math.Round(float64(x)*1e5)))
		}
	}
	const want = "26415bd8ce8d4817"
	if got := hex.EncodeToString(h.Sum(nil))[:16]; New().Name() != "hashing-256-v1" || got != want {
		t.Errorf("%s gives %s, want %s for hashing-256-v1", New().Name(), got, want)
	}
}

func TestEndedContextIsAnError(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := New().Embed(ctx, []string{"a tool"}); err == nil {
		t.Error("no error")
	}
}

func TestOnlyTheResultIsAllocated(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates too")
	}
	m, ctx := New(), context.Background()
	texts := []string{"createPullRequestReview: creates a review of a pull request, with comments"}
	m.Embed(ctx, texts)
	if n := testing.AllocsPerRun(100, func() { m.Embed(ctx, texts) }); n > 2.5 {
		t.Errorf("%v allocations for a list and a vector", n)
	}
}

func TestConcurrentCallsDoNotMeet(t *testing.T) {
	m := New()
	texts := []string{"create a ticket", "close a ticket", "list all the tickets of a project"}
	want := embed(t, texts...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := m.Embed(context.Background(), texts)
			if err != nil {
				t.Error(err)
				return
			}
			for i := range want {
				if cosine(got[i], want[i]) < 0.999999 {
					t.Errorf("text %d differs", i)
				}
			}
		})
	}
	wg.Wait()
}

func TestSplit(t *testing.T) {
	tests := []struct {
		text string
		want string
	}{
		{"getHTTPStatus2", "get http status 2"},
		{"snake_case-and.dots", "snak cas and dot"},
		{"APIs", "apis"},
		{"created creating creates create", "creat creat creat creat"},
		{"stopped running passes filling", "stop run pass fill"},
		{"Ünïcode ÉTÉ", "ünïcode été"},
		{"北京weather", "北 京 weather"},
		{"v1.25", "v 1 25"},
	}
	for _, tt := range tests {
		var s scratch
		s.split(tt.text)
		var got []string
		for _, w := range s.words {
			got = append(got, string(s.letters[w.start:w.end]))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("split(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestGramsAreCountedAsTheyAreYielded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := []byte(rapid.StringMatching(`[a-zéß北]{1,12}`).Draw(t, "word"))
		n := 0
		for size := minGram; size <= maxGram; size++ {
			for range grams(letters, size) {
				n++
			}
		}
		if n != countGrams(letters) {
			t.Fatalf("%d grams, counted %d", n, countGrams(letters))
		}
	})
}

func FuzzEmbed(f *testing.F) {
	for _, s := range []string{"", "a", "getHTTPStatus2", "\xff\xfe\x00", "北京 ＡＢＣ", "e\u0301", strings.Repeat("x", 300), "ing ed sses ies s"} {
		f.Add(s)
	}
	m := New()
	f.Fuzz(func(t *testing.T, text string) {
		a, err := m.Embed(context.Background(), []string{text, "between", text})
		if err != nil {
			t.Fatal(err)
		}
		if (a[0] == nil) != (a[2] == nil) {
			t.Fatal("the same text once has a vector and once has none")
		}
		if a[0] == nil {
			return
		}
		var square float64
		for i, x := range a[0] {
			if x != a[2][i] {
				t.Fatalf("component %d is %v, then %v", i, x, a[2][i])
			}
			square += float64(x) * float64(x)
		}
		if !(math.Abs(square-1) < 1e-5) {
			t.Fatalf("length squared is %v", square)
		}
	})
}

func BenchmarkEmbedQuery(b *testing.B) {
	m, ctx := New(), context.Background()
	texts := []string{"find flights from Berlin to Lisbon next week and book the cheapest one"}
	b.ReportAllocs()
	for b.Loop() {
		m.Embed(ctx, texts)
	}
}
