package text

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"getUserTokens", "get User Tokens"},
		{"GetUserTokens", "Get User Tokens"},
		{"get_user_tokens", "get user tokens"},
		{"get-user.tokens", "get user tokens"},
		{"HTTPServer", "HTTP Server"},
		{"parseHTTPHeader", "parse HTTP Header"},
		{"userIDs", "user IDs"},
		{"listURLsByID", "list URLs By ID"},
		{"XMLHttpRequest", "XML Http Request"},
		{"GET /v1/users/{user_id}/tokens", "GET v1 users user id tokens"},
		{"/users/{userId}", "users user Id"},
		{"createGitHubIssue", "create GitHub Issue"},
		{"getOAuthToken", "get OAuth Token"},
		{"GitHub", "GitHub"},
		{"base64Encode", "base64 Encode"},
		{"sha256", "sha256"},
		{"address1", "address 1"},
		{"getV2Users", "get V2 Users"},
		{"2factor", "2 factor"},
		{"address.city[0]", "address city 0"},
		{"SCREAMING_SNAKE", "SCREAMING SNAKE"},
		{"__init__", "init"},
		{"___", "___"},
		{"C++", "C++"},
		{"don't", "don't"},
		{"straßenName", "straßen Name"},
		{"天気を調べる", "天気を調べる"},
		{"Retrieve the user's e-mail via HTTPS at 3.5 km/h and/or GitHub, YouTube.", "Retrieve the user's e-mail via HTTPS at 3.5 km/h and/or GitHub, YouTube."},
		{"Call getUserToken first.", "Call get User Token first."},
		{"Needs user_id, orderId (see GetUserToken).", "Needs user id, order Id (see Get User Token)."},
		{"From https://example.com/some_page on", "From https://example.com/some_page on"},
		{"my iPhone  and\teBay", "my iPhone  and\teBay"},
		{"  padded words ", "  padded words "},
	} {
		if got := Split(c.in); got != c.want {
			t.Errorf("Split(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

// Split only ever changes what stands between letters and digits.
func TestSplitKeepsLetters(t *testing.T) {
	letters := func(s string) string {
		return strings.Map(func(r rune) rune {
			if IsWordRune(r) {
				return r
			}
			return -1
		}, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("abcDEF12 _-./{}é天\t"))).Draw(t, "s")
		if got := Split(s); letters(got) != letters(s) {
			t.Fatalf("Split(%q) = %q", s, got)
		}
	})
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"The quick, brown_fox v2 x 42 7", []string{"the", "quick", "brown", "fox", "v2", "42"}},
		{"Café STRASSE Straße", []string{"café", "cafe", "strasse", "straße", "strasse"}},
		{"Ｆｕｌｌ ﬁle", []string{"full", "file"}},
		{"查询天气", []string{"查询", "询天", "天气"}},
		{"API查询 号", []string{"api", "查询", "号"}},
		{"サーバー", []string{"サー", "ーバ", "バー"}},
		{"한국어", []string{"한국", "국어"}},
		{"हिन्दी भाषा", []string{"हिन्दी", "भाषा"}},
		{"Ёлка Київ йод", []string{"ёлка", "елка", "київ", "йод"}},
		{"調べる 天気", []string{"調べ", "べる", "天気"}},
		{"ที่นี่", []string{"ที่นี่"}}, // marks stay with their letter
		{"القَاهِرَة مـدرسة أحمد", []string{"القاهره", "مدرسه", "احمد"}},
		{"می\u200cخواهم کتاب", []string{"مي", "خواهم", "كتاب"}},
		{"क्\u200dष फ़ोन हूँ", []string{"क्ष", "फोन", "हूं"}},
		{"שָׁלוֹם", []string{"שלום"}},
		{"٤٢ ४२ Wetter\u00adbericht", []string{"42", "42", "wetterbericht"}},
		{strings.Repeat("a", 65), nil},
	} {
		if got := Tokens(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Tokens(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestStem(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"running", "run"}, {"retrieves", "retriev"}, {"retrieval", "retriev"}, {"weather", "weather"},
		{"häuser", "häuser"}, {"v2", "v2"}, {"天气", "天气"}, {"", ""},
	} {
		if got := Stem(c.in); got != c.want {
			t.Errorf("Stem(%q) = %q, want %q", c.in, got, c.want)
		}
	}
	if !StopWord("the") || StopWord("weather") || StopWord("how") {
		t.Error("stop words")
	}
	for _, word := range []string{"how", "please", "möchte", "quiero", "voudrais"} {
		if !Filler(word) {
			t.Errorf("%q says nothing", word)
		}
	}
	for _, word := range []string{"weather", "die", "help", "sign", "out", "天气"} {
		if Filler(word) {
			t.Errorf("%q says something", word)
		}
	}
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"One. Two! Three? Four", []string{"One.", "Two!", "Three?", "Four"}},
		{"See e.g. the docs, Dr. Smith. Then v1.2 of it.", []string{"See e.g. the docs, Dr. Smith.", "Then v1.2 of it."}},
		{`He said "Go." Then left.`, []string{`He said "Go."`, "Then left."}},
		{"Am 12. Januar, z.B. morgens. Danach Ende.", []string{"Am 12. Januar, z.B. morgens.", "Danach Ende."}},
		{"查询天气。然后订票！好吗？", []string{"查询天气。", "然后订票！", "好吗？"}},
		{"first line\nsecond line", []string{"first line", "second line"}},
		{"Wait... what? no!", []string{"Wait... what?", "no!"}},
		{"example.com is up", []string{"example.com is up"}},
	} {
		if got := Sentences(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Sentences(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func TestClauses(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"What is the weather in Rome?", nil},
		{"rock and roll", nil},
		{"Find a hotel in Rome and book a flight there", []string{"Find a hotel in Rome", "and book a flight there"}},
		{"Get the weather in Paris; then send it to Bob by mail.", []string{"Get the weather in Paris;", "then send it to Bob by mail."}},
		{"Is it 1,000 or 2,5 km to Rome? Show the way to Rome.", []string{"Is it 1,000 or 2,5 km to Rome?", "Show the way to Rome."}},
		{"Hi. Show me my orders of May.", nil},
		{"Suche ein Hotel in Rom und buche einen Flug dorthin", []string{"Suche ein Hotel in Rom", "und buche einen Flug dorthin"}},
		{"请帮我查询北京的天气，然后预订一张机票", []string{"请帮我查询北京的天气，", "然后预订一张机票"}},
	} {
		if got := Clauses(c.in); !slices.Equal(got, c.want) {
			t.Errorf("Clauses(%q)\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

func TestPiecesHoldTheText(t *testing.T) {
	words := rapid.SampledFrom([]string{"book", "a", "flight", "and", "then", ",", ". ", "; ", "? ", "天气", "，", "。", "und", "1,5", "\n", "Dr."})
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(words, 0, 60).Draw(t, "words"), " ")
		if got := strings.Join(Sentences(s), ""); squeeze(got) != squeeze(s) {
			t.Fatalf("Sentences(%q) hold %q", s, got)
		}
		clauses := Clauses(s)
		if len(clauses) == 1 || len(clauses) > maxClauses {
			t.Fatalf("Clauses(%q): %d pieces", s, len(clauses))
		}
		if got := strings.Join(clauses, ""); clauses != nil && squeeze(got) != squeeze(s) {
			t.Fatalf("Clauses(%q) hold %q", s, got)
		}
	})
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"héé", 2, "h"}, {"天气", 5, "天"}, {"ae\u0301x", 3, "a"}, {"abc", 0, ""}, {"abc", -1, ""},
	} {
		if got := Truncate(c.in, c.max); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"getUser_id", "a. B; c", "天气。x", "é\xff", "...", "İstanbul", "GitHubs"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, token := range Tokens(s) {
			if token == "" || !utf8.ValidString(token) && utf8.ValidString(s) {
				t.Fatalf("token %q of %q", token, s)
			}
			Stem(token)
		}
		words := Words(s)
		languages, _ := Detect(words)
		for i, w := range words {
			for _, l := range append(Stemmed(), languages[w.Script], "xx") {
				if w.StemIn(l); w.Plain == "" {
					t.Fatalf("word %+v of %q", w, s)
				}
			}
			w.Singles(nil)
			w.Singles(&words[(i+1)%len(words)])
		}
		Split(s)
		for _, piece := range Sentences(s) {
			if strings.TrimSpace(piece) == "" {
				t.Fatalf("empty sentence of %q", s)
			}
		}
		if n := len(Clauses(s)); n == 1 || n > maxClauses {
			t.Fatalf("%d clauses of %q", n, s)
		}
		if got := Truncate(s, len(s)/2); len(got) > len(s)/2 || !strings.HasPrefix(s, got) {
			t.Fatalf("Truncate(%q) = %q", s, got)
		}
	})
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		text string
		in   Language // expected in the script of the first word
		sure bool
	}{
		{"Returns the weather for a city and its surroundings", "en", true},
		{"weather rome tomorrow", "en", false},
		{"Liefert das Wetter für eine Stadt", "de", true},
		{"Zeigt den Weg mit der Karte", "de", true},
		{"Donne la météo pour une ville", "fr", true},
		{"Muestra el tiempo de una ciudad", "es", true},
		{"Mostra a previsão do tempo para uma cidade", "pt", true},
		{"Mostra il tempo che fa nella città", "it", true},
		{"Toont het weer voor een stad", "nl", true},
		{"Visar vädret för en stad och dess omgivning", "sv", true},
		{"Bir şehrin hava durumunu gösterir ve kaydeder", "tr", true},
		{"Pokazuje pogodę w mieście oraz na wsi", "pl", true},
		{"Показывает погоду в городе", "ru", true},
		{"прогноз на неделю", "ru", true},
		{"погода Москва", "ru", false},
		{"Показує погоду в місті", "uk", true},
		{"يعرض حالة الطقس في المدينة", "ar", true},
		{"پیش بینی آب و هوا برای شهر", "fa", true},
		{"शहर के मौसम की जानकारी", "hi", true},
		{"Café naïve résumé", "fr", true}, // letters speak too
		{"42 17", "en", false},
		// Words of tools that other languages have as well.
		{"List branches in a repository, ten per page", "en", true},
		{"min width max width min height", "en", false},
		{"ai chat, ai image, ai voice", "en", false},
		{"pokémon of a pokémon", "en", false},
		{"train no wagon no seat no", "en", false},
	} {
		words := Words(c.text)
		languages, sure := Detect(words)
		if s := words[0].Script; languages[s] != c.in || sure[s] != c.sure {
			t.Errorf("%q is %q (sure: %v), want %q (%v)", c.text, languages[s], sure[s], c.in, c.sure)
		}
	}
}

func TestGuess(t *testing.T) {
	for want, s := range map[Language]string{
		"en": "Returns the list of users that are in the group.",
		"de": "Gibt die Liste der Benutzer zurück, die in der Gruppe sind und nicht gesperrt wurden.",
		"zh": "查询指定城市的天气预报",
		"ja": "指定した都市の天気予報を取得します",
		"ko": "지정한 도시의 날씨를 조회합니다",
		"ru": "Возвращает список пользователей группы",
		"":   "xyzzy frobnicate",
	} {
		if got := Guess(s); got != want {
			t.Errorf("%q is in %q, want %q", s, got, want)
		}
	}
}

func TestStemIn(t *testing.T) {
	stem := func(word string, l Language) string { return Words(word)[0].StemIn(l) }
	for _, c := range []struct {
		in    Language
		words []string // of one stem
	}{
		{"en", []string{"running", "runs", "run"}},
		{"de", []string{"Häuser", "Hauses", "Haus"}},
		{"fr", []string{"réservations", "réservation"}},
		{"es", []string{"reservaciones", "reservación"}},
		{"ru", []string{"погоды", "погода", "погоду"}},
		{"ar", []string{"المدينة", "مدينه"}},
		{"hi", []string{"किताबों", "किताबें", "किताब"}},
		{"tr", []string{"evler", "ev"}},
		{"pl", []string{"miasto"}},
		{"xx", []string{"Café", "cafe"}}, // not known: folded
		{"ru", []string{"Running"}},      // of another script: as it is
	} {
		for _, w := range c.words {
			if got, want := stem(w, c.in), stem(c.words[0], c.in); got != want {
				t.Errorf("%s: %q has the stem %q, %q has %q", c.in, w, got, c.words[0], want)
			}
		}
	}
	if got := Words("réservée")[0].PlainStemIn("fr"); got != stem("reservee", "fr") {
		t.Errorf("typed without accents: %q", got)
	}
}
