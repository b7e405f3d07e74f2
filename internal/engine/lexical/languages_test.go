package lexical

import (
	"slices"
	"testing"
)

// library holds a document a line, in several languages.
var library = []string{
	"Tells the weather forecast for a city.",                                 // 0
	"Liefert die Wettervorhersage für eine Stadt und den nächsten Tag.",      // 1
	"Zeigt den Wetterbericht der Region mit der Windgeschwindigkeit.",        // 2
	"Sucht nach Häusern und Wohnungen, die zu vermieten sind.",               // 3
	"Réserve une table dans un restaurant pour le soir.",                     // 4
	"Показывает прогноз погоды для города на неделю.",                        // 5
	"查询城市的天气预报。",                                                             // 6
	"東京の天気を調べます。",                                                            // 7
	"서울의 날씨를 알려 줍니다.",                                                        // 8
	"يعرض حالة الطقس في المدينة",                                             // 9
	"शहर के मौसम की जानकारी देता है।",                                        // 10
	"ตรวจสอบสภาพอากาศของเมือง",                                               // 11
	"Muestra las previsiones del tiempo para la ciudad y los próximos días.", // 12
	"养猫的小贴士和猫粮推荐",                                                            // 13
	"Berechnet die Steuer für das Einkommen und den Vorjahresgewinn.",        // 14
}

func libraryIndex(t *testing.T) *Snapshot {
	t.Helper()
	x := New()
	for i, doc := range library {
		must(0, x.Apply(map[uint32]Document{uint32(i): x.Analyze(&[FieldCount]string{Flat: doc, Name: doc}, Extra{})}))
		if i == len(library)/2 {
			x.Rebuild() // what a word may be is known across base and delta
		}
	}
	return x.Snapshot()
}

func TestWordsOfManyLanguagesAreFound(t *testing.T) {
	s := libraryIndex(t)
	for _, c := range []struct {
		query string
		want  []uint32 // the best, in any order
	}{
		{"forecasts of the weather", []uint32{0}},
		{"Vorhersage", []uint32{1}},               // the head of a compound
		{"wie wird das Wetter", []uint32{1, 2}},   // its modifier
		{"Berichte über das Wetter", []uint32{2}}, // both
		{"Wettervorhersagen", []uint32{1}},        // inflected
		{"Haus mieten", []uint32{3}},              // umlaut and stem
		{"haeuser", []uint32{3}},                  // typed without umlauts
		{"hauser", []uint32{3}},
		{"Gewinn", []uint32{14}},
		{"réserver des tables", []uint32{4}},
		{"reserver", []uint32{4}}, // typed without accents
		{"прогнозы", []uint32{5}},
		{"какая погода в городе", []uint32{5}},
		{"天气", []uint32{6}},
		{"我想知道北京的天气", []uint32{6}},
		{"天気を教えてください", []uint32{7}},
		{"날씨가 어때요", []uint32{8}},
		{"الطَّقْس", []uint32{9}}, // with vowel signs
		{"طقس", []uint32{9}},      // without the article
		{"मौसमों", []uint32{10}},
		{"อากาศ", []uint32{11}},
		{"previsión", []uint32{12}},
		{"prevision del tiempo", []uint32{12}},
		{"猫", []uint32{13}}, // one character
	} {
		var got []uint32
		for _, hit := range s.Search(Stem, s.Analyze(Stem, c.query), len(c.want), nil) {
			got = append(got, hit.Slot)
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q finds %v, want %v: %+v", c.query, got, c.want, s.Analyze(Stem, c.query))
		}
	}
}

// Where all documents are English, nothing is added to a query.
func TestEnglishStaysAsItIs(t *testing.T) {
	var docs []*[FieldCount]string
	for _, doc := range []string{"Returns the roadmap of a project.", "Road maps for drivers", "Signup form of the café", "information about a formation"} {
		docs = append(docs, &[FieldCount]string{Flat: doc, Name: doc})
	}
	s := put(New(), docs...)
	for _, f := range []Field{Flat, Stem, Name} {
		for _, query := range []string{"road map", "roadmap", "information", "the sign up of a café", "wetter in berlin und die karte"} {
			for _, term := range s.Analyze(f, query) {
				if len(term.Also) > 0 {
					t.Errorf("%d %q: %+v", f, query, term)
				}
			}
		}
	}
}

// "Jahr" is the first part of "Jahresbericht" only if "es" is no part of the second.
func TestALinkingElementBelongsToNoPart(t *testing.T) {
	s := put(New(), &[FieldCount]string{Flat: "Schreibt den Jahresbericht für die Firma."}, &[FieldCount]string{Flat: "Liest einen Bericht für die Firma."})
	if hits := s.Search(Stem, s.Analyze(Stem, "Jahr"), 2, nil); len(hits) != 1 || hits[0].Slot != 0 {
		t.Errorf("found %v", hits)
	}
}
