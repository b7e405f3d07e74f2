package schema

import (
	"cmp"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// MaxID is the longest id of an entity, in bytes.
const MaxID = 256

// tenantForm is the form of a tenant, which is safe in keys, subjects and paths.
var tenantForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,62}$`)

// ValidateID checks the id of a tool or a provider: 1 to 256 bytes of UTF-8 in
// NFC, without control and format characters and without a space at either
// end. Every other character is allowed. The error is an *Invalid with path
// "/id".
func ValidateID(id string) error { return checkID("/id", id) }

// ValidateTenant checks the name of a tenant: a small letter or a digit, then
// up to 62 small letters, digits, "_" and "-". The error is an *Invalid with
// path "/tenant".
func ValidateTenant(tenant string) error {
	if !tenantForm.MatchString(tenant) {
		return invalid("/tenant", tenant, "must match %s", tenantForm)
	}
	return nil
}

// Validate checks tenant, kind and id. The error is an *Invalid.
func (r Ref) Validate() error {
	return cmp.Or(ValidateTenant(r.Tenant), r.Kind.validate("/kind"), ValidateID(r.ID))
}

func (k Kind) validate(path string) error {
	if k != KindTool && k != KindProvider {
		return invalid(path, string(k), "must be %q or %q", KindTool, KindProvider)
	}
	return nil
}

func checkID(path, id string) error {
	switch {
	case id == "":
		return invalid(path, "", "must not be empty")
	case len(id) > MaxID:
		return invalid(path, id, "must have at most %d bytes, has %d", MaxID, len(id))
	case !utf8.ValidString(id):
		return invalid(path, id, "must be UTF-8")
	case strings.TrimSpace(id) != id:
		return invalid(path, id, "must not begin or end with a space")
	case strings.ContainsFunc(id, isInvisible):
		return invalid(path, id, "must not hold control or format characters")
	case !norm.NFC.IsNormalString(id):
		return invalid(path, id, "must be in Unicode normal form C")
	}
	return nil
}

// isInvisible reports control (Cc) and format (Cf) characters.
func isInvisible(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf) }

// isBlank reports whether s shows nothing.
func isBlank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !isInvisible(r) })
}
