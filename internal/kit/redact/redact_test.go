package redact

import (
	"strings"
	"testing"
)

func TestSecretsOfAddressesAreBlanked(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"me:hush@h:4222,[::1]:4222": "redacted@h:4222,[::1]:4222",
		"[Authorization:[Bearer hush123456=]], basic information": "[Authorization:[Bearer redacted]], basic information",
		"ask @me: ":                                                    "ask @me: ",
		"no address: just: words":                                      "no address: just: words",
		"https://h/v1?region=eu#part":                                  "https://h/v1?region=eu#part",
		"nats://me:hush@a:4222,nats://b":                               "nats://redacted@a:4222,nats://b",
		"https://h/?api-key=hush&region=eu":                            "https://h/?api-key=redacted&region=eu",
		"https://h/?a=%zz&token=hush":                                  "https://h/?redacted",
		"https://me:hu%sh@h/":                                          "https://redacted",
		`Get "https://h/a?X-Amz-Signature=hush": dial tcp`:             `Get "https://h/a?X-Amz-Signature=redacted": dial tcp`,
		"it moved (https://hush@h/), then https://h/?jwt=hush.":        "it moved (https://redacted@h/), then https://h/?jwt=redacted.",
		`{"url":"https://h/?token=hush\u0026x=1"}`:                     `{"url":"https://h/?token=redacted\u0026x=1"}`,
		"http:// is how it begins":                                     "http:// is how it begins",
		"redirected from http://h?token=hush,a to wss://x:hush@h/mcp.": "redirected from http://h?token=redacted to wss://redacted@h/mcp.",
	} {
		got := Text(text)
		if got != want || strings.Contains(got, "hush") {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("https://", "h/?token=", " after")
	f.Fuzz(func(t *testing.T, before, within, after string) {
		const secret = "hushhushhush"
		if got := Text(before + " https://me:" + secret + "@h/?token=" + secret + " " + after); strings.Contains(got, secret) {
			t.Error(got)
		}
		_ = Text(before + within + after) // ends
	})
}
