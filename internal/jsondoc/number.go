package jsondoc

import (
	"strconv"
	"strings"
)

// maxExponentDigits keeps exponents exact in an int; a number beyond it is not
// a number that anyone means.
const maxExponentDigits = 9

// numberLen returns the length of the JSON number that s starts with, 0 if it
// starts with none.
func numberLen(s string) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	whole := digits(s[i:])
	if whole == 0 || whole > 1 && s[i] == '0' {
		return 0
	}
	i += whole
	if i < len(s) && s[i] == '.' {
		frac := digits(s[i+1:])
		if frac == 0 {
			return 0
		}
		i += 1 + frac
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		exp := digits(s[i:])
		if exp == 0 {
			return 0
		}
		i += exp
	}
	return i
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func exponentDigits(s string) int {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return 0
	}
	return len(strings.TrimLeft(s[i+1:], "+-0"))
}

// normal rewrites a JSON number to one text per value: the layout of
// ECMAScript's Number::toString, as RFC 8785 asks, on the exact decimal digits
// instead of the nearest double. So 1.0, 1e0 and 10e-1 are 1, -0 is 0, and an
// identifier above 2^53 keeps all its digits.
func normal(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	exp := 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, _ = strconv.Atoi(strings.TrimPrefix(s[i+1:], "+")) // at most nine digits
		s = s[:i]
	}
	whole, frac, _ := strings.Cut(s, ".")
	d := strings.TrimLeft(whole+frac, "0")
	point := len(whole) + exp - (len(whole) + len(frac) - len(d)) // value is 0.d times 10^point
	d = strings.TrimRight(d, "0")
	if d == "" {
		return "0"
	}
	return sign + layout(d, point)
}

// layout writes 0.d times 10^point, where d has no outer zeros.
func layout(d string, point int) string {
	k := len(d)
	switch {
	case k <= point && point <= 21:
		return d + strings.Repeat("0", point-k)
	case 0 < point && point <= 21:
		return d[:point] + "." + d[point:]
	case -6 < point && point <= 0:
		return "0." + strings.Repeat("0", -point) + d
	}
	mantissa := d[:1]
	if k > 1 {
		mantissa += "." + d[1:]
	}
	if point > 0 {
		return mantissa + "e+" + strconv.Itoa(point-1)
	}
	return mantissa + "e" + strconv.Itoa(point-1)
}
