package text

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Language is an ISO 639-1 code, empty if unknown.
type Language string

// English is the language of Latin letters as long as nothing speaks for another.
const English Language = "en"

// Script returns the script that the language is written in.
func (l Language) Script() Script {
	switch l {
	case "ru", "uk", "bg", "sr":
		return cyrillic
	case "ar", "fa", "ur":
		return arabic
	case "hi", "mr", "ne":
		return devanagari
	case "el":
		return greek
	case "ta":
		return tamil
	}
	return latin
}

// Stemmed lists the languages that have a stemmer, English first.
func Stemmed() []Language {
	return []Language{
		English, "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi",
		"hu", "ro", "tr", "ru", "ar", "hi", "ta",
	}
}

// Spaced reports whether the words of the text are written with spaces between
// them, so that they have stems.
func (w Word) Spaced() bool { return !w.Script.unspaced() }

// Languages are the languages of a text, by script: a Russian text may hold
// English names.
type Languages [other + 1]Language

// Sure reports for each script whether its language could be detected.
type Sure [other + 1]bool

// usual is the language of a script as long as nothing speaks for another.
func usual(s Script) Language {
	switch s {
	case latin:
		return English
	case cyrillic:
		return "ru"
	case arabic:
		return "ar"
	case devanagari:
		return "hi"
	case greek:
		return "el"
	case tamil:
		return "ta"
	}
	return ""
}

// evidence counts the words of a text that indicate each language of told. It counts a function
// word once: a repeated word may be a name.
type evidence struct {
	words [len(told)]uint16
	seen  map[string]bool
	last  string // word that spoke by its letters
}

// mark is a set of languages, a bit for each of told.
type mark uint32

const _ = mark(1) << (len(told) - 1) // they fit

// A language is accepted if that many words indicate it (one is enough if the script is not
// Latin), and at least as many as for any other of its script. Against a more usual language it
// needs half as many again.
const (
	leastEvidence = 2
	clearNumber   = 3
	clearBy       = 2
)

// Detect identifies the languages of a text by its function words and by letters that few
// languages use. If there are too few, the language is the usual one of the script.
func Detect(words []Word) (languages Languages, sure Sure) {
	found := evidence{seen: map[string]bool{}}
	for i := range words {
		found.add(&words[i])
	}
	for s := range languages {
		languages[s] = usual(Script(s))
	}
	var best [other + 1]standing
	for i, n := range found.words {
		if n > 0 {
			if b := &best[told[i].Script()]; int(n) > b.words {
				*b = standing{told[i], int(n), b.words}
			}
		}
	}
	for s, b := range best {
		if b.sure(Script(s)) {
			languages[s], sure[s] = b.language, true
		}
	}
	return languages, sure
}

// Guess returns the language of prose, empty if the text is too short: by script if that decides,
// otherwise by Detect.
func Guess(s string) Language {
	words := Words(s)
	var letters [other + 1]int // by script
	total := 0
	for i := range words {
		n := utf8.RuneCountInString(words[i].Text)
		letters[words[i].Script] += n
		total += n
	}
	if total < 4 {
		return ""
	}
	languages, sure := Detect(words)
	// Written Japanese mixes kana with Han characters.
	if letters[kana]*4 >= letters[han] && (letters[kana]+letters[han])*3 >= total {
		return "ja"
	}
	for script, n := range letters {
		switch s := Script(script); {
		case n*3 < total:
		case s == han:
			return "zh"
		case s == hangul:
			return "ko"
		case s == southeast:
			return "th"
		case s == hebrew:
			return "he"
		case s != latin:
			return languages[s]
		}
	}
	if sure[latin] || plainASCII(s) && slices.ContainsFunc(words, func(w Word) bool { return w.FunctionWord(English) }) {
		return languages[latin]
	}
	return ""
}

// standing is the language of a script that most words speak for, and how many
// speak for the best of the more usual ones.
type standing struct {
	language Language
	words    int
	usual    int
}

func (s standing) sure(script Script) bool {
	least := 1
	if script == latin {
		least = leastEvidence
	}
	return s.words >= least && s.words*clearBy >= s.usual*clearNumber
}

func (e *evidence) add(w *Word) {
	if w.Script.unspaced() {
		return
	}
	var m mark
	if languages := functionWords[w.Text]; languages != 0 {
		if e.seen[w.Text] {
			return
		}
		e.seen[w.Text] = true
		m = languages
		if englishToo[w.Text] {
			m |= 1 // English is the first of told
		}
	} else if (w.Plain != w.Text || w.Script != latin) && w.Text != e.last {
		e.last = w.Text
		for _, r := range w.Text {
			m |= letters[r]
		}
	}
	for ; m != 0; m &= m - 1 {
		e.words[bits.TrailingZeros32(uint32(m))]++
	}
}

// FunctionWord reports whether a word is a function word of the language.
func (w Word) FunctionWord(l Language) bool {
	for m := functionWords[w.Text]; m != 0; m &= m - 1 {
		if told[bits.TrailingZeros32(uint32(m))] == l {
			return true
		}
	}
	return false
}

// told are the detectable languages, in the order of preference among equals.
var told = [...]Language{
	English, "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi", "hu",
	"ro", "tr", "pl", "cs", "ru", "uk", "bg", "sr", "ar", "fa", "ur", "hi", "mr", "ne",
}

// functionWords holds the languages that a word is frequent in. The lists hold
// words that are frequent in texts on any subject: no verb or noun of a request.
var functionWords = languagesByWord(map[Language]string{
	English: "the of and to in is for that with this by from are be or it as an which you your if not will can has have was were " +
		"at on its their they there these those then than but any all when where who what how does do my me we our i",
	"de": "der die das und ist von mit für den des ein eine einer eines einem einen zu zum zur auf nicht werden wird oder im dem bei " +
		"aus sind nach wie was wer wo wann welche welcher welches ich mich mir mein meine meinen meinem meiner du dich dir dein deine " +
		"er sie es wir uns unser unsere ihr ihre kann kannst können möchte will soll muss habe hat haben bin war als auch noch nur vom am über " +
		"unter vor gibt bitte diese dieser dieses sich man um durch bis so wenn dass alle allen einem kein keine",
	"fr": "le la les l du des et est pour une un dans par sur avec ce cette ces que qui quoi quel quelle quels quelles au aux ou où sont pas de " +
		"votre vos notre nos mon ma mes son sa ses je tu il elle nous vous ils elles me te se comment quand pourquoi puis peux peut voudrais veux " +
		"suis être avoir ai a ont fait plus en y ne entre chez d n s c qu",
	"es": "el la los las de del y es para una un unos unas en por con que se al o su sus lista esta este esto estos estas como más cómo qué cuál " +
		"cuándo dónde quién mi mis me te nos lo le les yo tu hay puedo puede quiero necesito sin sobre entre ser son está están ha he si no muy ya",
	"it": "il lo la gli i le di del della dello dei degli delle e è per una uno un in con che un al alla ai alle nel nella nei da dal dalla sono questo questa " +
		"come quando dove chi cosa quale quali mio mia miei mie mi ti ci si posso vorrei ho ha hanno non su sul sulla tra ed più",
	"pt": "o os a as do da dos das de e é para uma um em por pelo pela com que no na nos nas ou não seu sua seus suas ao aos à mais como quando onde quem " +
		"qual quais meu minha meus minhas me eu você posso quero preciso está são foi ser tem há este esta isso sem sobre entre",
	"nl": "de het een van en is voor met op dat te in aan zijn wordt worden door niet of bij deze dit die uit ik mijn mij je jouw we wij ons onze hij zij " +
		"er hoe wat wie waar wanneer welke kan kunnen wil moet heb heeft naar om over als ook nog maar geen",
	"sv": "och det att i en jag hon som han på den med var sig för så till är men ett om hade de av icke mig du henne då sin nu har inte hans honom " +
		"min mitt mina ska kan vill hur vad vem vilken när från eller vid alla",
	"da": "og i jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min mit mine havde ham hun nu over da fra du ud " +
		"hvordan hvad hvem hvor hvornår hvilken kan skal vil eller ved alle",
	"no": "og i jeg det at en et den til er som på de med han av for ikke der var meg seg men har om vi min mitt mine hadde ham hun nå over da fra du ut " +
		"hvordan hva hvem hvor når hvilken kan skal vil eller ved alle",
	"fi": "ja on ei se että hän joka ovat oli olen olla tämä mutta niin kuin kun mitä missä milloin miten kuka minun minä sinun sinä me te he myös vain tai sekä jos " +
		"mikä jonka voi voin haluan ole sen",
	"hu": "a az és egy hogy nem is van ez ezt azt meg de ha csak már vagy mint volt lesz kell hol mikor hogyan milyen melyik mi ki én te ő mert el fel " +
		"szeretnék tudok való szerint alapján",
	"ro": "și şi de la în pe cu din pentru este sunt un o al ale ai lui care ce cum când unde cine nu mai sau dar prin după mea mele meu îmi vreau pot să se că",
	"tr": "ve bir bu için ile olarak da de olan veya göre daha ne nasıl nerede kim hangi mi mı mu mü benim ben sen biz siz onlar şu çok en var yok kadar sonra " +
		"istiyorum lütfen",
	"pl": "i w na z do jest się nie dla to lub od oraz po przez o jako który która które jak kiedy gdzie kto co mój moja moje mi mnie za ze są czy ten ta te",
	"cs": "a v na se je že s z do o k pro jako za ve po jak kdy kde kdo co který která které můj moje mi od nebo ale jsou není bych jsem tento tato",
	"ru": "и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще нет о из ему когда " +
		"для или это эта этот эти какой какая какие какое где кто мой моя мои мою моего моей моих мы при над под если чтобы есть быть до",
	"uk": "і й та в у на не що він я з як а то все вона так його але ти до ви за б по тільки її мені від мене ще ні із йому коли для або це ця цей ці " +
		"який яка які де хто мій моя мої ми при якщо щоб є бути",
	"bg": "и в във не че той на аз с със как а то все тя така но да ти към у вече за би по само ми беше от мен още няма се ли кога за или това тази този тези " +
		"какъв каква какви къде кой моя моят моите ние при ако са съм е един една",
	"sr": "и у не да он на ја с са као а то све она тако његов али ти ка за би по само ми од мене још нема се када или ово ова овај које где ко мој моја ми при ако су сам је",
	"ar": "في من على الي إلى عن مع هذا هذه ذلك التي الذي ما ماذا هل كيف متي متى اين أين لا ان أن او أو كان كل بين هو هي هم انا أنا لي قد تم ثم حتى حتي عند اي أي كم يكون يتم",
	"fa": "در به از كه اين را با است براي آن ان يك خود تا كرد بر هم نيز مي شود هاي شده چه چگونه كجا كي من ما شما او هر يا اگر",
	"ur": "كے كي كا ميں ہے سے كو اور پر ہيں يہ كہ نے ايك وہ ہو كر اس كيا ہم ميرا ميري",
	"hi": "है हैं के में की का को से और पर यह कि ने एक वह हो कर इस क्या हम मेरा मेरी मेरे मुझे मैं आप कैसे कब कहां कहाँ कौन किस लिए या नहीं भी तो था थी थे जो अपने अपना अपनी करें करने करता करती " +
		"किसी होता होती वाले",
	"mr": "आहे आहेत आणि च्या मध्ये हे हा ही ते तो ती काय कसे माझा माझी माझे मला साठी किंवा नाही होते करा",
	"ne": "छ छन् र मा को का की लाई यो त्यो मेरो म कसरी के हो गर्नुहोस् गर्न वा पनि थियो हुन्छ",
})

func languagesByWord(lists map[Language]string) map[string]mark {
	out := map[string]mark{}
	for i, l := range told {
		for _, w := range Words(lists[l]) {
			out[w.Text] |= 1 << i
		}
	}
	return out
}

// englishToo are function words of other languages that English texts of tools
// hold too, as words of their own or as parts of names.
var englishToo = WordSet("no per me us he her him so am an on min max mine pro ai en war man men ham also comment plus as os do over van to " +
	"is in at has had will was all now not only page")

// WordSet returns the words of a list.
func WordSet(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range Words(list) {
		out[w.Text] = true
	}
	return out
}

// letters holds the languages that a letter indicates: the detectable languages that use it often.
var letters = languagesByLetter(map[Language]string{
	"de": "äöüß", "fr": "éèêëàâçîïôûùœ", "es": "áéíóúñ", "it": "àèéìòù", "pt": "ãõçáéíóúâêô",
	"sv": "åäö", "da": "åæø", "no": "åæø", "fi": "äö", "hu": "áéíóöőúüű", "ro": "ăâîșşțţ",
	"tr": "çğıöşü", "pl": "ąćęłńóśźż", "cs": "áčďéěíňóřšťúůýž",
	"ru": "ыэ", "uk": "іїєґ", "bg": "ъ", "sr": "љњћђџј",
	"fa": "پچژگ", "ur": "ٹڈڑےںہ", "mr": "ळ",
})

func languagesByLetter(lists map[Language]string) map[rune]mark {
	out := map[rune]mark{}
	for i, l := range told {
		for _, r := range lists[l] {
			out[r] |= 1 << i
		}
	}
	return out
}

// pairFillers are characters in requests of any subject: pronouns, particles, words of asking.
const pairFillers = "的了吗嗎呢吧着過过我你您们們请請帮幫想要怎么麼什吗哪谁誰把被这這那"

// fillerPair reports whether a pair of unspaced characters only phrases a request: Chinese with a
// character of pairFillers, Japanese only in hiragana, which writes endings and particles.
func fillerPair(w *Word) bool {
	hiragana := true
	for _, r := range w.Text {
		if strings.ContainsRune(pairFillers, r) {
			return true
		}
		hiragana = hiragana && unicode.Is(unicode.Hiragana, r)
	}
	return hiragana
}

// Filler reports whether a word of a query only phrases the request: by the function Filler, and
// for the pairs of unspaced scripts.
func (w Word) Filler() bool {
	if w.Script.unspaced() {
		return fillerPair(&w)
	}
	return Filler(w.Text) || w.Plain != w.Text && Filler(w.Plain)
}
