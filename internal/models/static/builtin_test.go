package static

import (
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func shipped(t testing.TB) *Model {
	t.Helper()
	return check.Value(Builtin())(t)
}

func TestBuiltin(t *testing.T) {
	m := shipped(t)
	if len(builtin) > 8_500_000 {
		t.Errorf("%d bytes are compiled in", len(builtin))
	}
	if i := m.Info(); i.Dimensions != 256 || len(i.Licences) == 0 || i.Texts == 0 || !strings.Contains(strings.Join(i.Teachers, " "), "minilm") {
		t.Errorf("%+v", i)
	}
}

// What docs/models.md promises of requests that share no word with their
// tool, where search by words finds nothing.
func TestBuiltinFindsParaphrases(t *testing.T) {
	right, wrong := top1(shipped(t))
	t.Logf("%d of %d; not: %s", right, len(paraphrases()), strings.Join(wrong, "\n"))
	if right < 33 {
		t.Errorf("%d of %d requests find their tool first, want %d", right, len(paraphrases()), 33)
	}
}

// Spellings of a word are near each other in every script.
func TestBuiltinInOtherLanguages(t *testing.T) {
	m := shipped(t)
	for _, tt := range []struct{ text, near, far string }{
		{"Wettervorhersage", "Vorhersage des Wetters", "Rechnung bezahlen"},
		{"прогноз погоды", "погода прогнозы", "оплата счета"},
		{"天气预报", "获取天气", "发送邮件"},
		{"東京の天気", "天気予報", "音楽を再生"},
		{"prévision météo", "previsions meteo", "payer facture"},
		{"날씨 예보", "서울 날씨 예보", "음악 재생"},
		{"curency convertor", "currency converter", "calendar converter"},
	} {
		v, near, far := m.Append(nil, tt.text), m.Append(nil, tt.near), m.Append(nil, tt.far)
		if a, b := cosine(v, near), cosine(v, far); a <= b {
			t.Errorf("%s: cosine to %s is %.3f, to %s %.3f", tt.text, tt.near, a, tt.far, b)
		}
	}
}

// What the model cannot read has no vector, so that words alone decide.
func TestEmbedLeavesOtherLanguagesOut(t *testing.T) {
	for text, want := range map[string]bool{
		"forecast for tomorrow in Munich":         true,
		"curency convertor":                       true,
		"Kubernetes":                              true,
		"download report d0c30471-7c70 of job 77": true,
		"给我的同事发送一封邮件":                             false,
		"прогноз погоды":                          false,
		"wann wird der Müll bei uns abgeholt":     false,
		"¿qué tiempo hará mañana por la tarde?":   false,
	} {
		v, err := shipped(t).Embed(t.Context(), []string{text})
		if got := len(v[0]) > 0; err != nil || got != want {
			t.Errorf("%q has a vector: %v (%v), want %v", text, got, err, want)
		}
	}
}

func cosine(a, b []float32) float64 {
	var sum float64
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}
