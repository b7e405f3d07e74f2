package text

import "testing"

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		" two\t\n lines\u200b of `code` ":      "two lines of `code`",
		"'%Y_%m' and <b>marks</b>, first_name": "'%Y_%m' and <b>marks</b>, first_name",
		"u\u0308ber\u202e\U000e0041":           "über",
		"a\xffb":                               "a\ufffdb",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%q) = %q, want %q", in, got, want)
		}
	}
}
