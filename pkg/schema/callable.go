package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// MaxCallableName is the longest callable name, in bytes.
const MaxCallableName = 64

// The forms of names. A name that ends like a hash is never a plain one.
var (
	callableForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	hashedForm   = regexp.MustCompile(`_[0-9a-f]{8}$`)
	singleName   = regexp.MustCompile(`^[a-zA-Z0-9-]+$`)
	providerName = regexp.MustCompile(`^[a-zA-Z0-9_-]*[a-zA-Z0-9-]$`)
	localName    = regexp.MustCompile(`^[a-zA-Z0-9-][a-zA-Z0-9_-]*$`)
)

// maxCallableProvider is how many bytes of its provider a name with a hash has. Every byte costs
// a model tokens.
const maxCallableProvider = 24

// CallableName returns the name that a language model uses to call a tool, given its id, its
// provider, which may be empty, and its name at the source. The result matches
// ^[a-zA-Z0-9_-]{1,64}$ and depends on nothing else.
//
// The tool "github/create_issue" of github is called github_create_issue, a tool of my_server
// my_server__create_issue, and the tool "translate" without a provider translate. Such plain
// names of two ids always differ. Every other tool is called by the usable characters of its
// provider and name, and by 8 hex digits of the SHA-256 of its id: two ids may share such a
// name, though never with a plain one.
func CallableName(id, provider, name string) string {
	if plain := plainName(id, provider); plain != "" && len(plain) <= MaxCallableName && !hashedForm.MatchString(plain) {
		return plain
	}
	sum := sha256.Sum256([]byte(id))
	return readableName(provider, strings.TrimPrefix(name, provider+"/")) + "_" + hex.EncodeToString(sum[:4])
}

// ValidateCallableName refuses names that CallableName never returns. The error is an *Invalid
// with path "/callable_name".
func ValidateCallableName(name string) error {
	if !callableForm.MatchString(name) {
		return invalid("/callable_name", name, "must match %s", callableForm)
	}
	return nil
}

// plainName joins provider and tool where both can be told from the name again: one without
// "_" is an id, the first "_" or the only "__" ends a provider. Otherwise it is empty.
func plainName(id, provider string) string {
	if provider == "" {
		return singleName.FindString(id)
	}
	local, owned := strings.CutPrefix(id, provider+"/")
	if !owned || !localName.MatchString(local) || strings.Contains(local, "__") {
		return ""
	}
	switch {
	case singleName.MatchString(provider):
		return provider + "_" + local
	case providerName.MatchString(provider) && !strings.Contains(provider, "__"):
		return provider + "__" + local
	}
	return ""
}

// readableName makes a readable name of provider and tool, with room for a hash.
func readableName(provider, name string) string {
	provider, name = callableWords(provider[strings.LastIndexByte(provider, '/')+1:]), callableWords(name)
	const limit = MaxCallableName - len("_00000000")
	switch {
	case provider == "" && name == "":
		return "tool"
	case provider == "" || name == "":
		return cutWords(provider+name, limit)
	}
	provider = cutWords(provider, maxCallableProvider)
	return provider + "_" + cutWords(name, limit-len("_")-len(provider))
}

// callableWords joins the parts of a text that a name may have with "_".
func callableWords(s string) string {
	var words []string
	for _, word := range strings.FieldsFunc(s, func(r rune) bool { return !strings.ContainsRune(callableLetters, r) }) {
		if word = strings.Trim(word, "-"); word != "" {
			words = append(words, word)
		}
	}
	return strings.Join(words, "_")
}

const callableLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

// cutWords returns at most n bytes of joined words: whole words if they fill half of it.
func cutWords(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if end := strings.LastIndexAny(s[:n+1], "_-"); end >= n/2 {
		n = end
	}
	return strings.TrimRight(s[:n], "_-")
}
