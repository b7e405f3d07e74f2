package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/access/policy"
	"github.com/toolstream/toolstream/internal/kit/identity"
	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/tokentest"
	"github.com/toolstream/toolstream/pkg/client"
)

// attempts is how many requests are made in each deployment.
const attempts = 10_000

// Nothing shows what a caller may not see: no endpoint of the OpenAPI document, whatever
// the method, the encoding of the path, the query, the headers and the body. What is hidden
// answers as what does not exist.
func TestNothingHiddenIsShown(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	callers := intruders(t, file)
	everywhere(t, func(t *testing.T, d process.Deployment) { attemptAll(t, d, callers) }, "TOOLSTREAM_AUTH_TOKENS_FILE="+file)
}

// intruder is a caller who may not see the provider "secret" of the tenant acme.
type intruder struct {
	name, token string
	role        identity.Role
}

// intruders makes the tokens of the owner, who comes first, and of the others.
func intruders(t *testing.T, file string) []intruder {
	t.Helper()
	var out []intruder
	add := func(caller identity.Caller) {
		secret := tokentest.Add(t, file, caller, time.Time{})
		out = append(out, intruder{caller.String() + " " + string(caller.Role), secret, caller.Role})
	}
	add(identity.Caller{Tenant: "acme", Role: identity.Admin})
	add(identity.Caller{Tenant: "acme", Subject: "reader", Role: identity.Reader})
	add(identity.Caller{Tenant: "acme", Subject: "caller", Role: identity.Calling})
	add(identity.Caller{Tenant: "other", Subject: "reader", Role: identity.Reader}) // in whose tenant nobody writes names that are hidden here
	add(identity.Caller{Tenant: "rival", Role: identity.Admin})
	return append(out, intruder{name: "nobody"}, intruder{name: "a guess", token: "ts_guess"})
}

// canary is in every text that is hidden.
var canary = regexp.MustCompile(`qzcanary\w*`)

// attemptAll fills the tenant acme, hides its provider "secret", and makes the attempts.
func attemptAll(t *testing.T, d process.Deployment, callers []intruder) {
	owner := d.Front().Client
	owner.Token = callers[0].token
	fillAcme(t, &owner, d)
	before := everything(t, &owner)
	operations := documented(t, d)
	seed := rand.Uint64()
	t.Logf("seed %d, %d operations", seed, len(operations))
	var wg sync.WaitGroup
	var answered, shown atomic.Int64
	const workers = 4
	for w := range workers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for range attempts / workers {
				a := draw(rng, operations, callers[1:])
				front := d.Fronts()[rng.IntN(len(d.Fronts()))]
				if rng.IntN(2) == 0 {
					front = d.Front()
				}
				status, why := a.shows(t.Context(), front.Client.Server)
				if why != "" && shown.Add(1) <= 10 {
					t.Errorf("%s", why)
				}
				if status/100 == 2 {
					answered.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if after := everything(t, &owner); after != before {
		t.Errorf("something was changed: %s", differs(before, after))
	}
	if answered.Load() < attempts/10 {
		t.Errorf("only %d of the attempts are answered at all", answered.Load())
	}
	t.Logf("%d attempts, %d answered 2xx, %d through", attempts, answered.Load(), shown.Load())
}

// differs returns the ends of two texts from where they differ.
func differs(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return fmt.Sprintf("before …%.300s\nafter …%.300s", a[max(0, n-200):], b[max(0, n-200):])
}

// fillAcme gives the tenant acme tools that everybody may find, and hidden ones beside them: like
// them, and taking and giving the same.
func fillAcme(t *testing.T, owner *client.Client, d process.Deployment) {
	t.Helper()
	for i := range 10 {
		for _, provider := range []string{"open", "secret"} {
			word := fmt.Sprintf("forecast%d", i)
			if provider == "secret" {
				word = fmt.Sprintf("forecast%d qzcanary%d", i, i)
			}
			tool := map[string]any{
				"name": "forecast", "description": "Gives the weather forecast of a city. " + word,
				"inputSchema": map[string]any{"type": "object", "required": []string{"city"}, "properties": map[string]any{
					"city": map[string]any{"type": "string", "description": "Name of the city " + word}, "station_token": map[string]any{"type": "string"},
				}},
				"outputSchema": map[string]any{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string", "description": word}}},
				"tags":         []string{"weather", strings.Fields(word)[len(strings.Fields(word))-1]},
			}
			fillOne(t, owner, fmt.Sprintf("/v1/tools/%s%%2Ftool-%d?provider=%s", provider, i, provider), tool)
		}
	}
	// A provider of whose tools one is shown.
	for name, about := range map[string]string{"shown": "Gives the forecast of a city.", "hidden": "Gives the forecast of a qzcanarycity."} {
		fillOne(t, owner, "/v1/tools/mixed%2F"+name+"?provider=mixed", map[string]any{"name": name + "_forecast", "description": about})
	}
	fillOne(t, owner, "/v1/providers/mixed", map[string]any{"name": "qzcanarymixed", "description": "Is qzcanarymixed."})
	fillOne(t, owner, "/v1/providers/secret", map[string]any{"name": "qzcanaryprovider", "description": "All that is qzcanaryhidden."})
	fillOne(t, owner, "/v1/grants", policy.Policy{Version: "0", Grants: []policy.Grant{
		{Effect: policy.Allow, Action: policy.Destroy, On: "*", To: "role:admin"},
		{Effect: policy.Allow, Action: policy.Destroy, On: "provider:open", To: "*"},
		{Effect: policy.Allow, Action: policy.Find, On: "tool:mixed/shown", To: "*"},
		{Effect: policy.Deny, Action: policy.Find, On: "tag:qzcanarygrant", To: "group:qzcanarygroup"},
	}})
	for _, front := range append(d.Fronts(), d.Front()) {
		c := front.Client
		c.Token = owner.Token
		process.Await(t, "the tools are not listed", func() (bool, error) {
			all := read(t, &c, catalogue...)
			return strings.Count(all, `"id":"open/tool-`) == 10 && strings.Count(all, `"id":"secret`) == 11 && strings.Count(all, `"id":"mixed`) == 3, nil
		})
	}
}

func fillOne(t *testing.T, owner *client.Client, path string, body any) {
	t.Helper()
	if err := owner.Put(t.Context(), path, body, nil); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// catalogue is where the tools and providers of a tenant are listed.
var catalogue = []string{"/v1/tools?limit=1000", "/v1/providers?limit=1000"}

// everything is what the owner sees of its tenant.
func everything(t *testing.T, owner *client.Client) string {
	t.Helper()
	return read(t, owner, append(catalogue, "/v1/grants", "/v1/sources")...)
}

func read(t *testing.T, owner *client.Client, paths ...string) string {
	t.Helper()
	var all strings.Builder
	for _, path := range paths {
		body, _, err := owner.Send(t.Context(), http.MethodGet, path, nil, "", nil)
		check.OK(t, err)
		check.Value(io.Copy(&all, body))(t)
		_ = body.Close()
	}
	return all.String()
}

// call is an operation of the OpenAPI document.
type call struct {
	method, path string
	query        []parameter
	body         json.RawMessage
	components   map[string]json.RawMessage
	needs        identity.Role
}

// parameter is one of the query.
type parameter struct {
	Name, In string
	Schema   json.RawMessage
}

// documented returns the operations of all processes.
func documented(t *testing.T, d process.Deployment) []call {
	t.Helper()
	all := append(d.Fronts(), d.Front())
	if d, apart := d.(*process.Distributed); apart {
		all = append(all, d.Replica("trainer"))
	}
	var out []call
	for _, p := range all {
		out = append(out, operationsOf(t, &p.Client)...)
	}
	same := func(a, b call) int { return strings.Compare(a.path+a.method, b.path+b.method) }
	slices.SortFunc(out, same)
	return slices.CompactFunc(out, func(a, b call) bool { return same(a, b) == 0 })
}

func operationsOf(t *testing.T, c *client.Client) []call {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			Security    []map[string][]string
			Parameters  []parameter
			RequestBody struct {
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	check.OK(t, c.Get(t.Context(), "/openapi.json", nil, &doc))
	var out []call
	for path, methods := range doc.Paths {
		if path == "/metrics" {
			continue // it counts the requests themselves, so that no two answers are the same
		}
		for method, op := range methods {
			o := call{method: strings.ToUpper(method), path: path, components: doc.Components.Schemas, needs: identity.Needed(op.Security)}
			for _, p := range op.Parameters {
				if p.In == "query" {
					o.query = append(o.query, p)
				}
			}
			for _, content := range op.RequestBody.Content {
				o.body = content.Schema
			}
			out = append(out, o)
		}
	}
	return out
}

// attempt is a request. It names what is hidden as "secret".
type attempt struct {
	who          intruder
	method, path string
	header       http.Header
	body         string
	searches     bool // the words of the request decide what is found
}

// hidden are names of what the callers may not see, as an attacker may know them.
var hidden = []string{"secret/tool-3", "secret", "secret/tool-%d", "secret/", "SECRET/tool-3", "../acme/secret", "acme/secret/tool-3", "secret/tool-3\u0000", "secret\u2215tool-3", "*"}

var inPath = regexp.MustCompile(`\{[^}]*\}`)

func draw(rng *rand.Rand, operations []call, callers []intruder) attempt {
	pick := func(from ...string) string { return from[rng.IntN(len(from))] }
	name := func() string { return strings.ReplaceAll(pick(hidden...), "%d", fmt.Sprint(rng.IntN(10))) }
	who := callers[rng.IntN(len(callers))]
	for rng.IntN(4) > 0 && who.role == "" { // mostly somebody
		who = callers[rng.IntN(len(callers))]
	}
	if rng.IntN(4) == 0 {
		return properSearch(rng, who)
	}
	op := operations[rng.IntN(len(operations))]
	for rng.IntN(4) > 0 && !who.role.Includes(op.needs) { // mostly what the caller may do at all
		op = operations[rng.IntN(len(operations))]
	}
	a := attempt{who: who, method: op.method, header: http.Header{}, searches: strings.Contains(op.path, "search")}
	proper := rng.IntN(2) == 0 // but for the name, the request is as the document has it
	if proper {
		name = func() string { return pick(hidden[0], hidden[1], "auto", "forecast") }
	}
	a.path = inPath.ReplaceAllStringFunc(op.path, func(string) string { return escape(rng, name(), proper) })
	query := url.Values{}
	for _, p := range op.query {
		switch value := generate(rng, p.Schema, op.components, name, 0); {
		case rng.IntN(2) == 0:
		case proper:
			query.Add(p.Name, strings.Trim(value, `"`))
		default:
			query.Add(p.Name, pick(name(), "1", "true", "group:none,role:admin", "0"))
		}
	}
	if op.body != nil && (proper || rng.IntN(10) > 0) {
		a.body = generate(rng, op.body, op.components, name, 0)
	}
	a.header.Set("Content-Type", "application/json")
	switch {
	case a.who.token == "":
	case rng.IntN(4) == 0: // as a browser that has signed in
		a.header.Set("Cookie", "toolstream_session="+a.who.token)
		a.header.Set("Sec-Fetch-Site", "same-origin")
	default:
		a.header.Set("Authorization", "Bearer "+a.who.token)
	}
	if !proper {
		a.disguise(rng, query, pick)
	}
	if len(query) > 0 {
		a.path += "?" + query.Encode()
	}
	return a
}

// properSearch is a search that is as it should be, for what is hidden.
func properSearch(rng *rand.Rand, who intruder) attempt {
	pick := func(from ...any) any { return from[rng.IntN(len(from))] }
	n := rng.IntN(10)
	text := func() any {
		return pick(fmt.Sprintf("weather forecast%d of a city", n), "secret", fmt.Sprintf("secret/tool-%d", n), "forecast by a station_token", "a city")
	}
	body := map[string]any{"query": text(), "k": 1 + rng.IntN(30)}
	for member, value := range map[string]any{
		"explain": true, "collapse": pick(true, false), "rank": pick("tools", "providers", "auto"), "rerank": pick("off", "auto", "single", "multi"),
		"arguments": map[string]any{"city": "Lisbon"}, "min_confidence": pick(0, 0.5), "steps": []any{text(), text()},
		"as": pick("mcp", "openai", "anthropic", "tool_reference", "tool_search_output"), "include": []any{"schema", "examples", "signature"}, "token_budget": pick(0, 500, 5000),
		"filters": pick(map[string]any{"providers": []any{"secret"}}, map[string]any{"ids": []any{fmt.Sprintf("secret/tool-%d", n)}},
			map[string]any{"tags": []any{"weather"}}, map[string]any{"kinds": []any{"provider"}}),
	} {
		if rng.IntN(3) == 0 {
			body[member] = value
		}
	}
	raw, _ := json.Marshal(body)
	a := attempt{who: who, method: http.MethodPost, path: "/v1/search", body: string(raw), searches: true, header: http.Header{"Content-Type": {"application/json"}}}
	if who.token != "" {
		a.header.Set("Authorization", "Bearer "+who.token)
	}
	return a
}

// escape returns a name as a part of a path.
func escape(rng *rand.Rand, name string, proper bool) string {
	escaped := url.PathEscape(name)
	if proper {
		return escaped
	}
	switch rng.IntN(6) {
	case 0:
		return strings.ReplaceAll(escaped, "%2F", "/")
	case 1:
		return url.PathEscape(escaped)
	case 2:
		return escaped + []string{"/", "//", ";x=1", "%00", ".", "%2e%2e"}[rng.IntN(6)]
	}
	return escaped
}

// disguise changes the method, the path, the query and the headers, as attackers do.
func (a *attempt) disguise(rng *rand.Rand, query url.Values, pick func(...string) string) {
	if rng.IntN(5) == 0 {
		a.method = pick("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get")
	}
	if rng.IntN(10) == 0 {
		a.path = pick("/v1//", "/v1/./", "/V1/", "/v1/%2e/", "//v1/") + strings.TrimPrefix(a.path, "/v1/")
	}
	if rng.IntN(5) == 0 {
		query.Add(pick("tenant", "subject", "role", "access_token", "token"), pick("acme", "admin", "secret"))
	}
	a.headers(rng, pick)
}

// headers adds what others take for a credential or an address.
func (a *attempt) headers(rng *rand.Rand, pick func(...string) string) {
	a.header.Set("Content-Type", pick("application/json", "application/x-www-form-urlencoded", "text/plain", "application/cloudevents+json", ""))
	for range rng.IntN(3) {
		name := pick("X-Tenant", "X-Forwarded-User", "X-Forwarded-Email", "X-Remote-User", "X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override",
			"X-Role", "X-Scope-OrgID", "Forwarded", "X-Forwarded-Host", "Cookie", "ce-source", "ce-subject", "Range", "If-None-Match", "Accept-Encoding", "Authorization", "Toolstream-Tenant")
		a.header.Add(name, pick("acme", "admin", "/v1/tools/secret%2Ftool-3", "DELETE", "tenant=acme", "bytes=0-10", "*", "Bearer acme", "Basic YWNtZTphY21l", "secret"))
	}
}

// generate returns a value that a JSON Schema allows, with names of what is hidden for texts.
func generate(rng *rand.Rand, raw json.RawMessage, components map[string]json.RawMessage, name func() string, depth int) string {
	var s struct {
		Ref                  string `json:"$ref"`
		Type                 any
		Enum                 []json.RawMessage
		Properties           map[string]json.RawMessage
		AdditionalProperties json.RawMessage
		Items                json.RawMessage
	}
	if json.Unmarshal(raw, &s) != nil || depth > 5 {
		return "null"
	}
	if s.Ref != "" {
		return generate(rng, components[strings.TrimPrefix(s.Ref, "#/components/schemas/")], components, name, depth+1)
	}
	if len(s.Enum) > 0 {
		return string(s.Enum[rng.IntN(len(s.Enum))])
	}
	text := func() string {
		quoted, _ := json.Marshal(name())
		return string(quoted)
	}
	kind, _ := s.Type.(string)
	if kinds, many := s.Type.([]any); many {
		kind, _ = kinds[0].(string)
	}
	switch kind {
	case "string":
		return text()
	case "integer", "number":
		return fmt.Sprint(1 + rng.IntN(20))
	case "boolean":
		return fmt.Sprint(rng.IntN(2) == 0)
	case "array":
		return "[" + generate(rng, s.Items, components, name, depth+1) + "]"
	}
	var members []string
	for member, of := range s.Properties {
		if rng.IntN(3) == 0 || member == "query" || member == "id" || member == "changes" {
			members = append(members, fmt.Sprintf("%q:%s", member, generate(rng, of, components, name, depth+1)))
		}
	}
	if rng.IntN(20) == 0 {
		members = append(members, `"tenant":"acme"`)
	}
	if slices.ContainsFunc(members, func(m string) bool { return strings.HasPrefix(m, `"needs"`) }) { // beside which there are no steps
		members = slices.DeleteFunc(members, func(m string) bool { return strings.HasPrefix(m, `"steps"`) })
	}
	slices.Sort(members)
	return "{" + strings.Join(members, ",") + "}"
}

// shows makes the attempt, and says what was shown or how what is hidden differs from what
// does not exist, "" for nothing.
func (a *attempt) shows(ctx context.Context, server string) (status int, why string) {
	status, answer := a.make(ctx, server)
	said := func(why string) string {
		return fmt.Sprintf("%s: %s %s %v %s\n%s: %d %.600s", a.who.name, a.method, a.path, a.header, a.body, why, status, answer)
	}
	if found := canary.FindString(answer); found != "" {
		return status, said("shows " + found)
	}
	if a.who.role == identity.Admin || a.searches || status == http.StatusServiceUnavailable {
		return status, ""
	}
	absent := *a
	for _, text := range []*string{&absent.path, &absent.body} {
		*text = strings.NewReplacer("secret", "secrex", "SECRET", "SECREX").Replace(*text)
	}
	otherStatus, other := absent.make(ctx, server)
	if strings.NewReplacer("secrex", "secret", "SECREX", "SECRET").Replace(other) != answer || otherStatus != status {
		return status, said(fmt.Sprintf("what does not exist is answered %d %.600s\nwhat is hidden", otherStatus, other))
	}
	return status, ""
}

// volatile are the parts of an answer that differ between two of the same request.
var volatile = regexp.MustCompile(`"(search_id|took_ms|time|now|uptime[a-z_]*)":("[^"]*"|[0-9.e+-]+)`)

func (a *attempt) make(ctx context.Context, server string) (status int, answer string) {
	r, err := http.NewRequestWithContext(ctx, a.method, server+a.path, strings.NewReader(a.body))
	if err != nil {
		return 0, "" // it cannot be sent
	}
	r.Header = a.header.Clone()
	resp, err := plain.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := bodyOf(resp)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	header := resp.Header.Clone()
	for _, differs := range []string{"Date", "Ratelimit", "Content-Length", "Traceparent"} {
		header.Del(differs)
	}
	parts := strings.Split(string(volatile.ReplaceAll(body, nil)), "{") // the errors of one answer have no order
	for i := range parts {
		parts[i] = strings.TrimRight(parts[i], ",]} \n")
	}
	slices.Sort(parts)
	return resp.StatusCode, fmt.Sprintf("%v\n%s", header, strings.Join(parts, "{"))
}

// bodyOf reads an answer, and of one that has no end the first line.
func bodyOf(resp *http.Response) ([]byte, error) {
	if resp.Header.Get("Content-Type") == "text/event-stream" && resp.Request.Method != http.MethodHead {
		return bufio.NewReader(resp.Body).ReadBytes('\n')
	}
	return io.ReadAll(resp.Body)
}

// plain follows no redirect: each is an answer.
var plain = &http.Client{
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}
