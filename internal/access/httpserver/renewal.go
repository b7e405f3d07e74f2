package httpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/oauth2"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// renewal is the refresh token of a session. The browser keeps it.
type renewal struct {
	Refresh string    `json:"refresh"`
	Due     time.Time `json:"due"` // well before the token of the session expires
}

// in returns in how many seconds it is due.
func (k renewal) in() *int {
	seconds := max(0, int(time.Until(k.Due).Seconds()))
	return &seconds
}

// readRenewal returns the renewal of a browser's session, if it has one.
func readRenewal(r *http.Request) (k renewal, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(readCookie(r, renewalCookie))
	return k, err == nil && json.Unmarshal(raw, &k) == nil && k.Refresh != ""
}

// dropRenewal removes the renewal cookie from a browser.
func dropRenewal(r *http.Request) (fields []string) {
	if readCookie(r, renewalCookie) == "" {
		return nil
	}
	return []string{setCookie(r, renewalCookie, "", http.SameSiteStrictMode, -time.Second)}
}

// keepRenewal stores the refresh token, if the provider gave one, in cookies of the browser. A
// session without a known end, or with a refresh token too long for a cookie, is not renewed.
func (s *Sessions) keepRenewal(ctx context.Context, r *http.Request, tokens *oauth2.Token) (k renewal, fields []string) {
	now := time.Now()
	k = renewal{tokens.RefreshToken, now.Add(tokens.Expiry.Sub(now) * 3 / 4)}
	raw, _ := json.Marshal(k) // a text and a time always encode
	value := base64.RawURLEncoding.EncodeToString(raw)
	if len(value) > maxCookie {
		s.Logger.WarnContext(ctx, "the identity provider's refresh token fits in no cookie: sessions end with their first token", "bytes", len(tokens.RefreshToken))
	}
	if k.Refresh == "" || tokens.Expiry.IsZero() || len(value) > maxCookie {
		return renewal{}, dropRenewal(r)
	}
	return k, []string{setCookie(r, renewalCookie, value, http.SameSiteStrictMode, 0)}
}

// renew gives a browser the next token of its session.
func (s *Sessions) renew(ctx context.Context, in *asked) (*sessionOutput, error) {
	if s.SignIn == nil {
		return nil, errNoSignIn
	}
	refuse := func(err error) error {
		note(ctx, func(a *audited) { a.reason = err.Error() })
		return huma.Error401Unauthorized(err.Error())
	}
	if err := fromOwnPage(ctx, in.request); err != nil {
		return nil, err
	}
	kept, ok := readRenewal(in.request)
	if !ok {
		return nil, refuse(errors.New("this browser has no session that can be renewed"))
	}
	tokens, err := s.SignIn.Renew(ctx, kept.Refresh)
	switch {
	case errors.Is(err, identity.ErrInvalid):
		s.Logger.InfoContext(ctx, "the identity provider renews a session no more", "error", err)
		over := http.Header{}
		for _, field := range dropRenewal(in.request) {
			over.Add("Set-Cookie", field)
		}
		return nil, huma.ErrorWithHeaders(refuse(errors.New("the identity provider renews this session no more: sign in again")), over)
	case err != nil:
		s.Logger.WarnContext(ctx, "a session cannot be renewed", "error", err)
		return nil, Unavailable(identity.ErrUnavailable.Error(), 1)
	}
	cookie, who, err := s.admit(ctx, in.request, tokens.AccessToken)
	if err != nil {
		return nil, notAdmitted(err)
	}
	next, fields := s.keepRenewal(ctx, in.request, tokens)
	out := &sessionOutput{SetCookie: append(fields, cookie), Body: s.session(who, true)}
	if next.Refresh != "" {
		out.Body.RenewSeconds = next.in()
	}
	return out, nil
}
