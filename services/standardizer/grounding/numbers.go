package grounding

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/toolstream/toolstream/internal/text"
)

// numberWords are the words for counted, in that order, by language. A word that
// is another one, too, is left out: "-".
var numberWords = map[string]string{
	"en": "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand dozen",
	"de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend dutzend",
	"fr": "deux trois quatre cinq six sept huit - dix onze douze treize quatorze quinze seize dix-sept dix-huit dix-neuf vingt trente quarante cinquante soixante soixante-dix quatre-vingts quatre-vingt-dix cent mille douzaine",
	"es": "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete dieciocho diecinueve veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien mil docena",
	"it": "due tre quattro cinque - sette otto nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento mille dozzina",
	"pt": "dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezesseis dezessete dezoito dezenove vinte trinta quarenta cinquenta sessenta setenta oitenta noventa cem mil dúzia",
	"nl": "twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien achttien negentien twintig dertig veertig vijftig zestig zeventig tachtig negentig honderd duizend dozijn",
	"pl": "dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście trzynaście czternaście piętnaście szesnaście siedemnaście osiemnaście dziewiętnaście dwadzieścia trzydzieści czterdzieści pięćdziesiąt sześćdziesiąt siedemdziesiąt osiemdziesiąt dziewięćdziesiąt sto tysiąc tuzin",
	"sv": "två tre fyra fem sex sju åtta nio tio elva tolv tretton fjorton femton sexton sjutton arton nitton tjugo trettio fyrtio femtio sextio sjuttio åttio nittio hundra tusen dussin",
	"tr": "iki üç dört beş - yedi sekiz dokuz - onbir oniki onüç ondört onbeş onaltı onyedi onsekiz ondokuz yirmi otuz kırk elli altmış yetmiş seksen doksan - - düzine",
}

// counted are what the words count: 3 to 20, tens, a hundred, a thousand and a
// dozen.
var counted = []int{
	2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 30, 40, 50, 60, 70, 80, 90, 100, 1000, 12,
}

// numberWordsIn returns the numbers that a text has as words of a language.
func numberWordsIn(s, language string) []literal {
	var out []literal
	known := strings.Fields(numberWords[language])
	for _, w := range text.Words(s) {
		for i, word := range known {
			if w.Text == word || len(word) > 4 && w.Text == word+"s" {
				out = append(out, literal{w.Text, strconv.Itoa(counted[i])})
			}
		}
	}
	return append(out, hanNumbersIn(s)...)
}

// hanNumber is a number in Chinese characters before what it counts: without
// that, the characters are parts of other words.
var hanNumber = regexp.MustCompile(`([一二三四五六七八九十百]+)(?:个|個|天|次|位|条|件|分钟|分間|小时|時間|年|月|日|人|种|名|回|週|周|枚|台|本)`)

// hanNumbersIn returns those above two.
func hanNumbersIn(s string) []literal {
	var out []literal
	for _, m := range hanNumber.FindAllStringSubmatch(s, -1) {
		sum, digit := 0, 0
		for _, r := range m[1] {
			switch r {
			case '十':
				sum, digit = sum+10*max(digit, 1), 0
			case '百':
				sum, digit = sum+100*max(digit, 1), 0
			default:
				digit = strings.IndexRune("一二三四五六七八九", r)/len("一") + 1
			}
		}
		if sum+digit > 2 {
			out = append(out, literal{m[0], strconv.Itoa(sum + digit)})
		}
	}
	return out
}

// list is what stands between the ends of sentences, brackets and colons.
var list = regexp.MustCompile(`[^.:;()\[\]。：；（）\n]+`)

// separator stands between the parts of a list.
var separator = regexp.MustCompile(`[,，、]\s*(?:(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|ve|veya)\s)?|\s(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|ve|veya)\s`)

// listed returns how many things of a few words each are listed in each part of a
// text.
func listed(s string) (out []int) {
	for _, part := range list.FindAllString(s, -1) {
		items, n := separator.Split(part, -1), 1
		for i, item := range items[1:] {
			if len(strings.Fields(item)) > 3 && i < len(items)-2 {
				n = 0
			}
			n++
		}
		if n > 2 {
			out = append(out, n)
		}
	}
	return out
}
