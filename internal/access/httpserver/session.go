package httpserver

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/oauth2"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/kit/identity"
)

// Paths of the session of a browser.
const (
	sessionPath  = "/v1/session"
	renewPath    = sessionPath + ":renew"
	beginPath    = sessionPath + ":login"
	callbackPath = sessionPath + ":callback"
)

// Cookies. With TLS, their names begin with securePrefix, so that no other host or attacker on
// the network can set them (RFC 6265bis, section 4.1.3.2).
const (
	sessionCookie = "toolstream_session"
	renewalCookie = "toolstream_renewal"
	loginCookie   = "toolstream_login_" // and the state of the sign-in
	securePrefix  = "__Host-"
)

const (
	maxCookie = 4000             // bytes of a value: browsers drop a cookie of more than 4096
	maxReturn = 1000             // bytes of an address in the console
	loginTime = 10 * time.Minute // that a sign-in at a provider may take
	maxLogins = 10               // sign-ins of a browser that wait at once
)

// SignIn signs people in at an identity provider. Its errors wrap errors of package identity.
type SignIn interface {
	// Begin returns the address to send a browser to. The browser comes back to the address
	// redirect.
	Begin(ctx context.Context, redirect, state, nonce, verifier string) (string, error)
	// Finish returns the tokens for the code that the browser brings back.
	Finish(ctx context.Context, redirect, code, nonce, verifier string) (*oauth2.Token, error)
	// Renew returns the tokens for a refresh token.
	Renew(ctx context.Context, refresh string) (*oauth2.Token, error)
	// End revokes a refresh token.
	End(ctx context.Context, refresh string) error
}

// Sessions signs browsers in. Cookies hold the credential and the refresh token: the server
// keeps no state.
type Sessions struct {
	Credentials Credentials
	SignIn      SignIn // nil without an identity provider
	Logger      *slog.Logger
}

// Session describes the caller.
type Session struct {
	Authenticated bool           `json:"authenticated" doc:"The caller is known: by a credential, or because authentication is off."`
	Open          bool           `json:"open" doc:"No credential is asked for: every caller is an admin."`
	Caller        *SessionCaller `json:"caller,omitempty" doc:"The caller; absent if unknown."`
	RenewSeconds  *int           `json:"renew_seconds,omitempty" minimum:"0" doc:"Seconds until the browser should renew the session (/v1/session:renew); absent if it cannot be renewed."`
	SignIn        []string       `json:"sign_in" enum:"token,oidc" doc:"How a browser may sign in: with a token, or at the identity provider (/v1/session:login)."`
}

// SessionCaller is the caller of a session.
type SessionCaller struct {
	Tenant   string        `json:"tenant"`
	Subject  string        `json:"subject,omitempty" doc:"Name of the caller in the tenant; absent for a caller without a name."`
	Role     identity.Role `json:"role,omitempty" enum:"reader,caller,writer,operator,admin" doc:"Role of the caller; absent if it has no rights."`
	Groups   []string      `json:"groups" doc:"Groups from the identity provider."`
	Operator bool          `json:"operator" doc:"The caller sees and changes the resources that all tenants share."`
}

type (
	sessionOutput struct {
		SetCookie []string `header:"Set-Cookie" doc:"The session of the browser, and the token that renews it."`
		Body      Session
	}
	openSessionInput struct {
		asked
		Body sessionToken
	}
	sessionToken struct {
		Token string `json:"token" minLength:"1" doc:"The token to sign in with."`
	}
	closedSessionOutput struct {
		SetCookie []string `header:"Set-Cookie" doc:"Takes the session from the browser."`
	}
	beginInput struct {
		asked
		Return string `query:"return" default:"/console/" doc:"Page of the console to return to."`
	}
	beginOutput struct {
		Location  string   `header:"Location" doc:"The identity provider."`
		SetCookie []string `header:"Set-Cookie" doc:"Binds the sign-in to the browser, for ten minutes."`
	}
	callbackInput struct {
		asked
		State string `query:"state" doc:"State of the sign-in."`
		Code  string `query:"code" doc:"Code of the provider for a token."`
		Error string `query:"error" doc:"Error of the provider."`
	}
	callbackOutput struct {
		Status      int
		ContentType string   `header:"Content-Type"`
		SetCookie   []string `header:"Set-Cookie" doc:"The session."`
		Body        []byte
	}
)

// asked is the part of an input that has the request itself.
type asked struct{ request *http.Request }

// Resolve implements huma.Resolver.
func (a *asked) Resolve(ctx huma.Context) []error {
	a.request, _ = humago.Unwrap(ctx)
	return nil
}

// Routes adds the calls of sessions to an API.
func (s *Sessions) Routes(api huma.API) {
	operation := func(id, method, path, summary, description string, errs ...int) huma.Operation {
		return huma.Operation{
			OperationID: id, Security: identity.ProvenOtherwise(), Method: method, Path: path, Summary: summary, Description: description,
			Tags: []string{"session"}, Errors: errs, Metadata: audit.Sampled(), // changes nothing; the handlers record the outcome
		}
	}
	huma.Register(api, operation("get-session", http.MethodGet, sessionPath, "Say who calls",
		"By the credential of the request, a bearer token, a client certificate or the cookie of a session. Without one, or with one that does not hold, the answer says how to sign in."), s.get)
	huma.Register(api, operation("open-session", http.MethodPost, sessionPath, "Sign in a browser with a token",
		"The answer sets the cookie "+sessionCookie+", with "+securePrefix+" before it over TLS, which holds the token: until the browser ends, or the session is closed, it is the credential of requests that have no Authorization. "+
			"Where the cookie is the credential, what changes something has to come from a page of this server, by Sec-Fetch-Site or Origin. So has this call.",
		http.StatusUnauthorized, http.StatusForbidden), s.open)
	huma.Register(api, operation("renew-session", http.MethodPost, renewPath, "Renew the session of a browser",
		"Where the browser has signed in at the identity provider, and that gives refresh tokens: by the cookie "+renewalCookie+", which holds one. It has to come from a page of this server, as a sign-in has. "+
			"A provider may take a refresh token once: pages that share a session renew it one at a time.",
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound), s.renew)
	closing := operation("close-session", http.MethodDelete, sessionPath, "Sign out a browser", "What renews the session ends at the identity provider, too. The token that it signed in with goes on to be one until it expires.")
	closing.DefaultStatus = http.StatusNoContent
	huma.Register(api, closing, s.close)
	begin := operation("begin-sign-in", http.MethodGet, beginPath, "Sign in a browser at the identity provider",
		"By the authorization code flow with PKCE. The browser comes back to "+callbackPath+", which has to be among the addresses that the provider sends to.", http.StatusNotFound)
	begin.DefaultStatus = http.StatusFound
	huma.Register(api, begin, s.begin)
	callback := operation(callbackID, http.MethodGet, callbackPath, "Finish a sign-in at the identity provider", "Answers a page that goes on to where the sign-in began, with the cookies of a session.", http.StatusNotFound)
	callback.Responses = map[string]*huma.Response{}
	for status, description := range map[string]string{"200": "The page", "400": "The sign-in is not one that began here, or was given up", "401": "The provider gives no token that is taken here", "502": "The provider does not answer"} {
		callback.Responses[status] = &huma.Response{Description: description, Content: map[string]*huma.MediaType{"text/html": {Schema: &huma.Schema{Type: huma.TypeString}}}}
	}
	huma.Register(api, callback, s.finish)
}

const callbackID = "finish-sign-in"

// get answers with the caller of a session.
func (s *Sessions) get(ctx context.Context, in *asked) (*sessionOutput, error) {
	caller, known := caller(ctx)
	out := s.session(caller, known)
	if kept, ok := readRenewal(in.request); ok && s.SignIn != nil {
		out.RenewSeconds = kept.in()
	}
	return &sessionOutput{Body: out}, nil
}

// caller returns the caller of a context, and whether one is known.
func caller(ctx context.Context) (identity.Caller, bool) {
	c := identity.From(ctx)
	return c, c.Subject != "" || c.Role != ""
}

// session describes a caller.
func (s *Sessions) session(c identity.Caller, known bool) Session {
	out := Session{Authenticated: known, Open: s.Credentials.none(), SignIn: []string{}}
	if s.Credentials.Tokens != nil || s.Credentials.Provider != nil {
		out.SignIn = append(out.SignIn, "token")
	}
	if s.SignIn != nil {
		out.SignIn = append(out.SignIn, "oidc")
	}
	if known {
		out.Caller = &SessionCaller{Tenant: c.Tenant, Subject: c.Subject, Role: c.Role, Groups: append([]string{}, c.Groups...), Operator: c.Operates()}
	}
	return out
}

// open signs in with a token.
func (s *Sessions) open(ctx context.Context, in *openSessionInput) (*sessionOutput, error) {
	if err := fromOwnPage(ctx, in.request); err != nil {
		return nil, err
	}
	if s.Credentials.none() {
		return &sessionOutput{Body: s.session(identity.Anybody, true)}, nil
	}
	cookie, who, err := s.admit(ctx, in.request, in.Body.Token)
	if err != nil {
		return nil, notAdmitted(err)
	}
	return &sessionOutput{SetCookie: append(dropRenewal(in.request), cookie), Body: s.session(who, true)}, nil
}

// notAdmitted is the answer to a token that cannot sign in.
func notAdmitted(err error) error {
	switch {
	case errors.Is(err, identity.ErrUnavailable):
		return Unavailable(identity.ErrUnavailable.Error(), 1)
	case errors.Is(err, errLongToken):
		return huma.Error422UnprocessableEntity(err.Error(), &huma.ErrorDetail{Location: InBody + "/token"})
	}
	return huma.ErrorWithHeaders(huma.Error401Unauthorized(err.Error()), http.Header{"WWW-Authenticate": {`Bearer realm="toolstream", error="invalid_token"`}})
}

// admit returns the cookie of a session and the caller of its token. Its error wraps an error of
// package identity, or is errLongToken.
func (s *Sessions) admit(ctx context.Context, r *http.Request, token string) (cookie string, who identity.Caller, err error) {
	who, err = s.Credentials.Caller(ctx, token)
	switch {
	case errors.Is(err, identity.ErrUnavailable):
		s.Logger.WarnContext(ctx, "a token cannot be checked", "error", err)
		return "", who, identity.ErrUnavailable
	case errors.Is(err, identity.ErrExpired):
		err = identity.ErrExpired
	case err != nil:
		s.Logger.DebugContext(ctx, "a credential is refused", "error", err)
		err = errNoToken
	case len(token) > maxCookie:
		return "", who, errLongToken
	}
	if err != nil {
		note(ctx, func(a *audited) { a.reason = err.Error() })
		return "", who, err
	}
	note(ctx, func(a *audited) { a.caller, a.share = &who, 1 })
	return setCookie(r, sessionCookie, token, http.SameSiteStrictMode, 0), who, nil
}

var (
	errNoToken     = errors.New("this is no valid token")
	errLongToken   = fmt.Errorf("the token is longer than the %d bytes that a browser keeps: have the provider put less into it", maxCookie)
	errForeignPage = errors.New("a session is for pages of this server: send Sec-Fetch-Site: same-origin, or its Origin, as browsers do, or call with a bearer token")
)

// setCookie returns the header field that sets a cookie, until the browser closes if age is 0, and
// deletes it if age is negative.
func setCookie(r *http.Request, name, value string, site http.SameSite, age time.Duration) string {
	c := http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, SameSite: site, Secure: secure(r), MaxAge: int(age.Seconds())}
	if c.Secure {
		c.Name = securePrefix + c.Name
	}
	return c.String()
}

// readCookie returns the value of a cookie, "" if it is missing.
func readCookie(r *http.Request, name string) string {
	if secure(r) {
		name = securePrefix + name
	}
	c, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return c.Value
}

// close takes the session from a browser.
func (s *Sessions) close(ctx context.Context, in *asked) (*closedSessionOutput, error) {
	note(ctx, func(a *audited) { a.share = 1 })
	if kept, ok := readRenewal(in.request); ok && s.SignIn != nil {
		if err := s.SignIn.End(ctx, kept.Refresh); err != nil {
			s.Logger.WarnContext(ctx, "the identity provider does not end a session", "error", err)
		}
	}
	return &closedSessionOutput{append(dropRenewal(in.request), setCookie(in.request, sessionCookie, "", http.SameSiteStrictMode, -time.Second))}, nil
}

// pending is a sign-in that waits for the provider. The browser keeps it.
type pending struct {
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Return   string `json:"return"`
}

var errNoSignIn = huma.Error404NotFound("no identity provider is known where people could sign in (auth.oidc.client_id)")

// begin sends a browser to the provider.
func (s *Sessions) begin(ctx context.Context, in *beginInput) (*beginOutput, error) {
	if s.SignIn == nil {
		return nil, errNoSignIn
	}
	if !inConsole(in.Return) {
		return nil, huma.Error422UnprocessableEntity("want a path below "+ConsolePath, &huma.ErrorDetail{Location: InQuery + "/return"})
	}
	state, wait := rand.Text(), pending{Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Return: in.Return}
	at, err := s.SignIn.Begin(ctx, callbackOf(in.request), state, wait.Nonce, wait.Verifier)
	if err != nil {
		s.Logger.WarnContext(ctx, "nobody can sign in", "error", err)
		return nil, Unavailable(identity.ErrUnavailable.Error(), 1)
	}
	raw, _ := json.Marshal(wait) // texts always encode
	kept := setCookie(in.request, loginCookie+state, base64.RawURLEncoding.EncodeToString(raw), http.SameSiteLaxMode, loginTime)
	return &beginOutput{Location: at, SetCookie: append(giveUp(in.request), kept)}, nil
}

// giveUp removes the pending sign-ins of a browser with very many of them. Any page can make it
// begin more, until its headers are too long for a server.
func giveUp(r *http.Request) (fields []string) {
	prefix := loginCookie
	if secure(r) {
		prefix = securePrefix + prefix
	}
	for _, c := range r.Cookies() {
		if state, ok := strings.CutPrefix(c.Name, prefix); ok {
			fields = append(fields, setCookie(r, loginCookie+state, "", http.SameSiteLaxMode, -time.Second))
		}
	}
	if len(fields) < maxLogins {
		return nil
	}
	return fields
}

// inConsole reports whether an address leads to the console and nowhere else.
func inConsole(address string) bool {
	u, err := url.Parse(address)
	return err == nil && strings.HasPrefix(address, ConsolePath) && strings.HasPrefix(path.Clean(u.Path)+"/", ConsolePath) && len(address) <= maxReturn &&
		!strings.ContainsFunc(address, func(c rune) bool { return c <= ' ' || c == 0x7f || c == '\\' })
}

// callbackOf returns the address that the provider sends the browser back to.
func callbackOf(r *http.Request) string {
	u := url.URL{Scheme: "http", Host: r.Host, Path: callbackPath}
	if secure(r) {
		u.Scheme = "https"
	}
	return u.String()
}

// finish gives a browser that comes back from the provider its session. A cookie that no other
// site sends is not sent with a request that another site began: a page of this server goes on.
func (s *Sessions) finish(ctx context.Context, in *callbackInput) (*callbackOutput, error) {
	if s.SignIn == nil {
		return nil, errNoSignIn
	}
	refuse := func(status int, reason string) (*callbackOutput, error) {
		note(ctx, func(a *audited) { a.reason = reason })
		return webPage(status, "You are not signed in", reason, ConsolePath, false), nil
	}
	var wait pending
	raw, err := base64.RawURLEncoding.DecodeString(readCookie(in.request, loginCookie+in.State))
	if err != nil || in.State == "" || json.Unmarshal(raw, &wait) != nil || !inConsole(wait.Return) {
		return refuse(http.StatusBadRequest, "this is no sign-in that began in this browser within ten minutes")
	}
	over := setCookie(in.request, loginCookie+in.State, "", http.SameSiteLaxMode, -time.Second)
	done := func(out *callbackOutput, err error) (*callbackOutput, error) {
		out.SetCookie = append(out.SetCookie, over)
		return out, err
	}
	if in.Error != "" || in.Code == "" {
		s.Logger.InfoContext(ctx, "the identity provider signs nobody in", "error", fmt.Sprintf("%.100q", in.Error))
		return done(refuse(http.StatusBadRequest, "the identity provider has not signed you in"))
	}
	tokens, err := s.SignIn.Finish(ctx, callbackOf(in.request), in.Code, wait.Nonce, wait.Verifier)
	if errors.Is(err, identity.ErrUnavailable) {
		s.Logger.WarnContext(ctx, "nobody can sign in", "error", err)
		return done(refuse(http.StatusBadGateway, identity.ErrUnavailable.Error()))
	}
	if err != nil {
		s.Logger.WarnContext(ctx, "a sign-in is refused", "error", err)
		return done(refuse(http.StatusUnauthorized, "the identity provider's answer does not hold"))
	}
	cookie, _, err := s.admit(ctx, in.request, tokens.AccessToken)
	switch {
	case errors.Is(err, identity.ErrUnavailable):
		return done(refuse(http.StatusBadGateway, err.Error()))
	case errors.Is(err, errNoToken):
		s.Logger.WarnContext(ctx, "the identity provider gives an access token that is not taken here: see auth.oidc.audience")
		return done(refuse(http.StatusUnauthorized, "the identity provider's token is not one for this server"))
	case err != nil:
		return done(refuse(http.StatusUnauthorized, err.Error()))
	}
	out := webPage(http.StatusOK, "You are signed in", "", wait.Return, true)
	_, kept := s.keepRenewal(ctx, in.request, tokens)
	out.SetCookie = append(kept, cookie)
	return done(out, nil)
}

// webPage is a page that leads to an address of the console, at once or by a link. It is put
// together without html/template: a program that links the template packages keeps every
// exported method of every type, a sixth of its size.
func webPage(status int, title, text, to string, atOnce bool) *callbackOutput {
	title, text, to = html.EscapeString(title), html.EscapeString(text), html.EscapeString(to)
	refresh := ""
	if atOnce {
		refresh = `<meta http-equiv="refresh" content="0;url=` + to + "\">\n"
	}
	if text != "" {
		text = "<p>" + text + "</p>\n"
	}
	page := fmt.Sprintf(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
%[1]s<title>%[2]s – toolstream</title>
</head>
<body>
<h1>%[2]s</h1>
%[3]s<p><a href="%[4]s">To the console</a></p>
</body>
</html>
`, refresh, title, text, to)
	return &callbackOutput{Status: status, ContentType: "text/html; charset=utf-8", Body: []byte(page)}
}

// takeSession makes a session cookie the bearer token of a request without another token. The
// error means that a page of another site may have made the request: such pages cannot make a
// browser send a token.
func takeSession(r *http.Request) (*http.Request, error) {
	token := readCookie(r, sessionCookie)
	if token == "" || len(r.Header.Values("Authorization")) > 0 {
		return r, nil
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions && !ownPage(r) {
		return nil, errForeignPage
	}
	r = r.WithContext(r.Context())
	r.Header = r.Header.Clone()
	r.Header.Set("Authorization", "Bearer "+token)
	return r, nil
}

// fromOwnPage is the answer to a request that is not from a page of this server, nil for others.
func fromOwnPage(ctx context.Context, r *http.Request) error {
	if ownPage(r) {
		return nil
	}
	note(ctx, func(a *audited) { a.reason = errForeignPage.Error() })
	return huma.Error403Forbidden(errForeignPage.Error())
}

// ownPage reports whether, according to the browser, a page of this server made it send a request.
func ownPage(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && origin.Host != "" && strings.EqualFold(origin.Host, r.Host) && (origin.Scheme == "https" || origin.Scheme == "http" && !secure(r))
}

// signsIn reports whether a request is for a credential, so that it needs none.
func signsIn(r *http.Request) bool {
	return r.Method == http.MethodPost && (r.URL.Path == sessionPath || r.URL.Path == renewPath) || r.URL.Path == beginPath || r.URL.Path == callbackPath
}

// asksWho reports whether a request is answered regardless of its credential: the questions about
// the caller, and the sign-out.
func asksWho(r *http.Request) bool {
	return r.URL.Path == sessionPath && (r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodDelete)
}
