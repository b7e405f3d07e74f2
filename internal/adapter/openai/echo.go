package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// leastEcho is how many bytes in a row two texts have to share for one to repeat
// the other: two or three words.
const leastEcho = 12

// unechoed returns an endpoint's words without what they repeat of the texts in
// the request: those are for no log.
func unechoed(words string, req *http.Request) string {
	if words == "" || req == nil || req.GetBody == nil {
		return words
	}
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	var sent any
	if err != nil || json.Unmarshal(raw, &sent) != nil {
		return ""
	}
	repeated := make([]bool, len(words))
	said, at := plain(words)
	eachText(sent, func(text string) { mark(repeated, said, at, text) })
	return without(words, repeated)
}

// eachText calls fn with every text in a request but names of models.
func eachText(value any, fn func(string)) {
	switch value := value.(type) {
	case string:
		fn(value)
	case []any:
		for _, v := range value {
			eachText(v, fn)
		}
	case map[string]any:
		for key, v := range value {
			if key != "model" {
				eachText(v, fn)
			}
		}
	}
}

// plain is a text in small letters, with one space between its words, as quotes,
// escapes and breaks differ where it is repeated; and where each byte of that
// stood.
func plain(text string) (string, []int) {
	var out []byte
	var at []int
	for i := 0; i < len(text); i++ {
		c, start := text[i], i
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c == '\\': // escapes the next one
			c = ' '
			i++
		case c < '0', c > '9' && c < 'a', c > 'z' && c < 0x80:
			c = ' '
		}
		if c != ' ' || len(out) > 0 && out[len(out)-1] != ' ' {
			out, at = append(out, c), append(at, start)
		}
	}
	return string(out), at
}

// least is the shortest text that is looked for as a whole.
const least = 4

// mark notes where said, whose bytes stood at at, repeats a text: a part of it,
// or all of a short one.
func mark(repeated []bool, said string, at []int, text string) {
	text, _ = plain(text)
	text = strings.TrimSpace(text)
	n := min(leastEcho, len(text))
	for i := 0; n >= least && i+n <= len(said); i++ {
		if !strings.Contains(text, said[i:i+n]) {
			continue
		}
		for j := at[i]; j <= at[i+n-1]; j++ {
			repeated[j] = true
		}
	}
}

// without puts a mark in place of what is repeated.
func without(words string, repeated []bool) string {
	var out strings.Builder
	for i := range len(words) {
		switch {
		case !repeated[i]:
			out.WriteByte(words[i])
		case i == 0 || !repeated[i-1]:
			out.WriteString("(…)")
		}
	}
	return strings.ToValidUTF8(out.String(), "")
}
