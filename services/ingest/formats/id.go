package formats

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/toolstream/toolstream/pkg/schema"
)

const (
	maxName = 256 // bytes
	maxSlug = 80  // bytes; an id made of prose needs no more
)

// normalID returns the id in NFC, or an error.
func normalID(id string) (string, error) {
	id = norm.NFC.String(id)
	err := schema.ValidateID(id)
	if wrong := (*schema.Invalid)(nil); errors.As(err, &wrong) {
		err = errors.New(wrong.Reason)
	}
	return id, err
}

// makeID joins provider and name to an id that is always valid:
// characters that no id may hold become spaces, and a long id is cut
// and ends in a hash.
func makeID(provider, name string) string {
	id := name
	if provider != "" {
		id = provider + "/" + name
	}
	id = norm.NFC.String(strings.ToValidUTF8(id, "\ufffd"))
	clean := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, id))
	if clean != id || len(id) > schema.MaxID {
		sum := sha256.Sum256([]byte(id))
		clean = strings.TrimSpace(cut(clean, schema.MaxID-17)) + "~" + hex.EncodeToString(sum[:8])
	}
	return clean
}

// cut returns at most n bytes of s, in whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// slug makes a short id of a title: letters and digits in lower case, joined
// by hyphens. A title without any gives "".
func slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(norm.NFC.String(title)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	s := strings.Join(words, "-")
	if len(s) > maxSlug {
		sum := sha256.Sum256([]byte(s))
		s = strings.TrimRight(cut(s, maxSlug-9), "-") + "-" + hex.EncodeToString(sum[:4])
	}
	return s
}

// ownerID makes a provider's id of the name of a source: names that are written like ids stay
// as they are.
func ownerID(name string) string {
	name = strings.TrimSpace(name)
	if id, err := normalID(name); err == nil && !strings.ContainsFunc(id, unicode.IsSpace) {
		return id
	}
	return slug(name)
}

// vague are names of files, folders and collections, as slugs, that do not say whose tools they
// hold: names of formats and of parts of a project, and the default titles of frameworks.
var vague = map[string]bool{
	"api": true, "apis": true, "api-docs": true, "api-documentation": true, "doc": true, "docs": true, "fastapi": true,
	"functions": true, "index": true, "main": true, "my-api": true, "new-collection": true, "openapi": true,
	"openapi-definition": true, "schema": true, "schemas": true, "server": true, "spec": true, "specs": true, "src": true,
	"swagger": true, "tool": true, "tools": true, "tools-list": true, "untitled": true,
}

var versionFolder = regexp.MustCompile(`^v\d+(-\d+)*$`)

// sourceName returns the name that a file name or URL suggests for the owner of its tools: its
// base name; if that is vague, its nearest folder, or the host, whose name is neither vague nor
// a version. It returns "" where the source has no name.
func sourceName(source string) string {
	base := baseName(source)
	if !vague[slug(base)] {
		return base
	}
	source, _, _ = strings.Cut(source, "#")
	if _, rest, isURL := strings.Cut(source, "://"); isURL {
		source, _, _ = strings.Cut(rest, "?")
	}
	for dir := path.Dir(strings.ReplaceAll(source, `\`, "/")); dir != "." && dir != "/"; dir = path.Dir(dir) {
		folder := path.Base(dir)
		if name := slug(folder); name != "" && !vague[name] && !versionFolder.MatchString(name) && folder[0] != '.' {
			return ownerID(folder)
		}
	}
	return base
}

// baseName returns the last part of a file name or URL without its extensions,
// "" where the source has no name.
func baseName(source string) string {
	source, _, _ = strings.Cut(source, "#")
	if strings.Contains(source, "://") {
		source, _, _ = strings.Cut(source, "?")
		if _, rest, _ := strings.Cut(source, "://"); !strings.Contains(rest, "/") {
			return ""
		}
	}
	base := path.Base(strings.ReplaceAll(source, `\`, "/"))
	for {
		ext := path.Ext(base)
		if ext == base || fileKind(base) == "" && !strings.EqualFold(ext, ".txt") && !strings.EqualFold(ext, ".gz") {
			break
		}
		base = strings.TrimSuffix(base, ext)
	}
	if base == "." || base == "/" || base == "-" {
		return ""
	}
	return ownerID(base)
}

// extension returns the lower-case extension of a source, that before ".gz".
func extension(source string) string {
	source, _, _ = strings.Cut(strings.ToLower(source), "?")
	return path.Ext(strings.TrimSuffix(source, ".gz"))
}

// IsProvidersFile reports whether a file's name says that it lists providers.
func IsProvidersFile(source string) bool {
	base := path.Base(strings.ReplaceAll(source, `\`, "/"))
	return strings.HasPrefix(base, "providers") || strings.HasPrefix(base, "agents")
}

// IsDataSetSidecar reports whether a file of that name belongs to a data set without holding
// tools: queries, folds, recorded standardized
// documents, hard negatives and reference weights.
func IsDataSetSidecar(name string) bool {
	base := path.Base(strings.ReplaceAll(name, `\`, "/"))
	switch strings.TrimSuffix(base, ".gz") {
	case "queries.jsonl", "folds.jsonl", "standardized.jsonl", "hard_negatives.jsonl", "reference_weights.jsonl":
		return true
	}
	return false
}
