package outbound

import (
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	standard "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/toolstream/toolstream/internal/testing/check"
)

// standardSecret has the form that Standard Webhooks gives secrets.
const standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func TestStandardWebhooks(t *testing.T) {
	t.Setenv("SOURCE_TOKEN", standardSecret)
	body := []byte(`{"test": 2432232314}`)
	sign := func(secret string, at time.Time) string {
		hook := check.Value(standard.NewWebhook(secret))(t)
		return check.Value(hook.Sign("msg_p5jXN8AQM9LWM0D4loKWxJek", at, body))(t)
	}
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		other := "whsec_" + "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
		for name, tc := range map[string]struct {
			at        time.Time
			signature string
			body      string
			want      bool
		}{
			"a signature":                       {now, sign(standardSecret, now), string(body), true},
			"of another key":                    {now, sign(other, now), string(body), false},
			"while keys change":                 {now, sign(other, now) + " " + sign(standardSecret, now), string(body), true},
			"of another version":                {now, "v1a" + sign(standardSecret, now)[2:], string(body), false},
			"of another body":                   {now, sign(standardSecret, now), `{"test": 2432232315}`, false},
			"of another time":                   {now, sign(standardSecret, now.Add(-time.Second)), string(body), false},
			"of five minutes ago":               {now.Add(-5 * time.Minute), sign(standardSecret, now.Add(-5*time.Minute)), string(body), true},
			"that is too old":                   {now.Add(-301 * time.Second), sign(standardSecret, now.Add(-301*time.Second)), string(body), false},
			"that is too far ahead":             {now.Add(301 * time.Second), sign(standardSecret, now.Add(301*time.Second)), string(body), false},
			"that is none":                      {now, "", string(body), false},
			"with something else in its place":  {now, "v1", string(body), false},
			"that is right but for its letters": {now, sign(standardSecret, now) + "A", string(body), false},
		} {
			header := http.Header{}
			header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
			header.Set("webhook-timestamp", strconv.FormatInt(tc.at.Unix(), 10))
			header.Set("webhook-signature", tc.signature)
			if err := (Credential{Kind: Hook, Scheme: HookStandard, Env: "SOURCE_TOKEN"}).Verify(header, []byte(tc.body)); (err == nil) != tc.want {
				t.Errorf("a signature %s: %v, want taken %v", name, err, tc.want)
			}
		}
	})
}

// The signatures were made with: printf BODY | openssl dgst -sha1 -hmac s3cret
func TestSignaturesOfTheBodyAndKeys(t *testing.T) {
	const body = `{"source":"crud","event":"services","operation":"update"}`
	t.Setenv("SOURCE_TOKEN", "s3cret")
	for _, tc := range []struct {
		scheme, header, value, body string
		want                        bool
	}{
		{HookHMACSHA1, "X-Kong-Signature", "sha1=e258d9b87b2e3b30eb4f502b63580e387e94ffd7", body, true},
		{HookHMACSHA1, "X-Kong-Signature", "e258d9b87b2e3b30eb4f502b63580e387e94ffd7", body, true},
		{HookHMACSHA1, "X-Kong-Signature", "sha1=e258d9b87b2e3b30eb4f502b63580e387e94ffd7", body + " ", false},
		{HookHMACSHA1, "X-Kong-Signature", "sha256=6df9fe967e70c6a04fee4ab1832b7d795d57c594661c797d1080e7c6b3c9ab44", body, false},
		{HookHMACSHA256, "X-Hub-Signature-256", "sha256=6df9fe967e70c6a04fee4ab1832b7d795d57c594661c797d1080e7c6b3c9ab44", body, true},
		{HookHMACSHA256, "X-Hub-Signature-256", "sha256=", body, false},
		{HookHMACSHA256, "X-Hub-Signature-256", "sha256=none", body, false},
		{HookHMACSHA256, "Another", "sha256=6df9fe967e70c6a04fee4ab1832b7d795d57c594661c797d1080e7c6b3c9ab44", body, false},
		{HookKey, "X-Api-Key", "s3cret", body, true},
		{HookKey, "X-Api-Key", "s3cre", body, false},
		{HookKey, "X-Api-Key", "", body, false},
		{HookKey, "Another", "s3cret", body, false},
	} {
		headers := http.Header{}
		headers.Set(tc.header, tc.value)
		p := Credential{Kind: Hook, Scheme: tc.scheme, Header: tc.header, Env: "SOURCE_TOKEN"}
		if tc.header == "Another" {
			p.Header = "X-Api-Key"
		}
		if err := p.Verify(headers, []byte(tc.body)); (err == nil) != tc.want {
			t.Errorf("%s: %s: %v, want taken %v", tc.scheme, tc.value, err, tc.want)
		}
	}
}
