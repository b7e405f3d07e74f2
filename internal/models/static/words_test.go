package static

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	tests := []struct {
		text string
		want string // separated by spaces
	}{
		{"", ""},
		{"  !?… — 🙂 ", ""},
		{"Get the weather, now!", "get the weather now"},
		{"getUserTokens get_user-tokens GET /users/{id}", "get user tokens get user tokens get users id"},
		{"parseHTTPHeader HTTPServer URLs APIs IDs", "parse http header http server urls apis ids"},
		{"iPhone eBay OAuth2 GitHub", "iphone ebay oauth 0 git hub"},
		{"base64 of 2024-01-31 and 1234567", "base 00 of 0000 00 00 and 0000"},
		{"the dog's don’t we're o'clock l'eau", "the dog don we o clock l eau"},
		{"Café Ångström naïve ＡＢＣ ﬁle", "cafe angstrom naive abc file"},
		{"cafe\u0301 co\u00adoperate می\u200cخواهم", "cafe cooperate میخواهم"},
		{"Größe der Straße, Łódź, smørrebrød", "grosse der strasse lodz smorrebrod"},
		{"Найти все ёлки и ПогодаСегодня", "наити все елки и погода сегодня"},
		{"날씨 예보", "날씨 예보"},
		{"天气预报API", "天气 气预 预报 api"},
		{"東京タワーの天気", "東京 京タ タワ ワー ーの の天 天気"},
		{"中 国", "中 国"},
		{"สวัสดี", "สว วั ัส สด ดี"},
		{"दिल्ली का मौसम", "दिल्ली का मौसम"},
		{"a\xffb", "a b"},
		{strings.Repeat("x", 30) + "Y", strings.Repeat("x", 24) + " y"},
		{"٣٤ and ½", "00 and 0"},
	}
	for _, tt := range tests {
		if got := strings.Join(Words(tt.text), " "); got != tt.want {
			t.Errorf("Words(%q)\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

// Every text with a letter or digit has a word, every word is lower case and
// valid, and words cut once more are themselves.
func TestWordsOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "text")
		words := Words(s)
		if len(words) == 0 && strings.ContainsFunc(s, func(r rune) bool { return (unicode.IsLetter(r) || unicode.IsNumber(r)) && classOf(r) != apostrophe }) {
			t.Fatalf("no words in %q", s)
		}
		for _, w := range words {
			if !utf8.ValidString(w) || w == "" || strings.ContainsFunc(w, func(r rune) bool { return 'A' <= r && r <= 'Z' || r == '\n' }) {
				t.Fatalf("word %q of %q", w, s)
			}
		}
	})
}
