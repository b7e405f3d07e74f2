package static

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func shipped(t testing.TB) *Model {
	t.Helper()
	return check.Value(Builtin())(t)
}

func TestBuiltin(t *testing.T) {
	m := shipped(t)
	if len(builtin) > 5_500_000 {
		t.Errorf("%d bytes are compiled in", len(builtin))
	}
	if i := m.Info(); i.Dimensions != 256 || len(i.Licences) == 0 || i.Texts == 0 || !strings.Contains(strings.Join(i.Teachers, " "), "minilm") {
		t.Errorf("%+v", i)
	}
}

// The teacher cannot read another script, and gives all its words the same vector.
func TestBuiltinHasRowsOfEnglishLettersAlone(t *testing.T) {
	for w := range shipped(t).words {
		if strings.ContainsFunc(w, func(r rune) bool { return r >= utf8.RuneSelf }) {
			t.Errorf("%q has a row", w)
		}
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

// What the model cannot read has no vector, so that words alone decide.
func TestEmbedLeavesOtherLanguagesOut(t *testing.T) {
	for text, want := range map[string]bool{
		"forecast for tomorrow in Munich":         true,
		"Kubernetes":                              true,
		"download report d0c30471-7c70 of job 77": true,
		"curency convertr":                        false,
		"":                                        false,
		"给我的同事发送一封邮件":                             false,
		"прогноз погоды API":                      false,
		"wann wird der Müll bei uns abgeholt":     false,
		"¿qué tiempo hará mañana por la tarde?":   false,
	} {
		v, err := shipped(t).Embed(t.Context(), []string{text})
		if got := len(v[0]) > 0; err != nil || got != want {
			t.Errorf("%q has a vector: %v (%v), want %v", text, got, err, want)
		}
	}
}
