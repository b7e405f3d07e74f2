// Package redact blanks possible secrets in texts that are shown.
package redact

import (
	"net/url"
	"regexp"
	"strings"
)

// blank replaces a secret.
const blank = "redacted"

// parameter matches names of query parameters that may hold a secret.
var parameter = regexp.MustCompile(`(?i)key|token|secret|pass|pwd|sig|auth|code|credential|session|jwt`)

// authorization is the value of a header that authenticates the sender (RFC 9110, section 11.6.2).
var authorization = regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/-]{8,}=*`)

var (
	scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	bare   = regexp.MustCompile(`[^\s/@,"'<>]+@((?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):[0-9]+)`) // NATS takes addresses without a scheme
)

// without blanks the secrets of one address. Of an invalid address only the scheme stays.
func without(address string) string {
	u, err := url.Parse(address)
	query, wrong := url.Values{}, error(nil)
	if err == nil {
		query, wrong = url.ParseQuery(u.RawQuery)
	}
	if err != nil {
		return scheme.FindString(address) + blank
	}
	if u.User != nil {
		u.User = url.User(blank)
	}
	changed := false
	for name := range query {
		if parameter.MatchString(name) {
			query.Set(name, blank)
			changed = true
		}
	}
	switch {
	case wrong != nil: // an unreadable address may contain a secret anywhere
		u.RawQuery = blank
	case changed:
		u.RawQuery = query.Encode()
	}
	return u.String()
}

// Text blanks, in every address in a text, the user information and the values of query parameters
// whose names suggest a secret, and also tokens after the words bearer and basic.
func Text(text string) string {
	text = authorization.ReplaceAllStringFunc(text, func(found string) string {
		if !strings.ContainsAny(found, "0123456789") { // words
			return found
		}
		return authorization.ReplaceAllString(found, "${1}"+blank)
	})
	var b strings.Builder
	for {
		at := scheme.FindStringIndex(text)
		if at == nil {
			b.WriteString(users(text))
			return b.String()
		}
		b.WriteString(users(text[:at[0]]))
		text = text[at[0]:]
		end, begun := len(text), at[1]-at[0]
		if i := strings.IndexAny(text, " \t\r\n\"'<>`\\"); i >= 0 {
			end = i
		}
		if next := scheme.FindStringIndex(text[begun:]); next != nil { // a list with commas
			end = min(end, begun+next[0])
		}
		address := strings.TrimRight(text[:end], ",;:.)]}")
		if len(address) > begun {
			b.WriteString(without(address))
		} else {
			b.WriteString(address)
		}
		text = text[len(address):]
	}
}

// shortest is the minimum length of a secret, in bytes: texts contain shorter words by chance.
const shortest = 6

// Secrets returns the secrets that Text blanks in one address, as written and decoded.
func Secrets(address string) (all []string) {
	u, err := url.Parse(address)
	if err != nil {
		return nil
	}
	secret, has := u.User.Password()
	if !has { // alone, it is a token
		secret = u.User.Username()
	}
	if len(secret) >= shortest {
		all = append(all, secret, url.QueryEscape(secret))
	}
	for name, values := range u.Query() {
		if !parameter.MatchString(name) {
			continue
		}
		for _, value := range values {
			if len(value) >= shortest {
				all = append(all, value, url.QueryEscape(value))
			}
		}
	}
	return all
}

// users blanks the user information of addresses without a scheme.
func users(text string) string { return bare.ReplaceAllString(text, blank+"@$1") }
