package outbound

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
)

func TestOnlyPublicAddressesAreReached(t *testing.T) {
	none, listed := Policy{}, Policy{Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("169.254.169.254/32")}}
	operator := Policy{Loopback: true, All: true}
	for _, tc := range []struct {
		ip      string
		policy  Policy
		private bool
		want    bool
	}{
		{"93.184.216.34", none, false, true},
		{"2606:2800:220:1::1", none, false, true},
		{"10.1.2.3", none, true, false},
		{"10.1.2.3", listed, false, false},
		{"10.1.2.3", listed, true, true},
		{"10.2.2.3", listed, true, false},
		{"::ffff:10.2.2.3", listed, true, false},
		{"::ffff:10.1.2.3", listed, true, true},
		{"64:ff9b::a01:203", none, false, false},
		{"2002:a01:203::1", none, false, false},
		{"127.0.0.1", none, true, false},
		{"127.0.0.1", operator, false, true},
		{"::1", operator, false, true},
		{"0.0.0.0", operator, true, false},
		{"192.168.1.1", operator, false, false},
		{"192.168.1.1", operator, true, true},
		{"169.254.169.254", operator, true, false},
		{"169.254.169.254", listed, true, true},
		{"fd00:ec2::254", operator, true, false},
		{"fe80::1%eth0", operator, true, false},
		{"fec0::1", none, false, false}, {"feff::1", operator, true, false}, {"3fff:fff::1", none, false, false}, {"5f00::1", none, false, false},
		{"100.100.100.200", operator, true, false},
		{"255.255.255.255", operator, true, false},
	} {
		if got := tc.policy.check(netip.MustParseAddr(tc.ip), tc.private) == nil; got != tc.want {
			t.Errorf("%s, private %v, with %+v: reached %v", tc.ip, tc.private, tc.policy, got)
		}
	}
}

func get(t *testing.T, c *http.Client, address string) (*http.Response, string, error) {
	t.Helper()
	req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	resp, err := c.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

func clients(t *testing.T, p Policy) *Transports {
	all := NewTransports(p)
	t.Cleanup(all.Close)
	return all
}

// The name localhost is no address: what counts is what it resolves to.
func TestNamesAndRedirectsAreJudgedByTheAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	}))
	defer server.Close()
	byName := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	if _, _, err := get(t, clients(t, Policy{}).Client(Options{Private: true}), byName); !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), "127.0.0.1") && !strings.Contains(err.Error(), "::1") {
		t.Errorf("loopback by name: %v", err)
	}
	if _, _, err := get(t, clients(t, Policy{Loopback: true, All: true}).Client(Options{Private: true}), byName); !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), "169.254.169.254") {
		t.Errorf("redirect to the metadata address: %v", err)
	}
}

// A request that sends something stays on its host and port, whatever its answer says. Documents
// may move, but not while their tools are called.
func TestNoRedirectTakesABodyElsewhere(t *testing.T) {
	var reached []string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached = append(reached, r.Method+" other") }))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Query().Get("status"))
		switch {
		case r.URL.Path == "/away":
			http.Redirect(w, r, other.URL, status)
		case status != 0:
			http.Redirect(w, r, "/here", status)
		default:
			reached = append(reached, r.Method+" here")
		}
	}))
	defer server.Close()
	looks, calls := clients(t, Policy{Loopback: true}).Client(Options{}), clients(t, Policy{Loopback: true}).ForCalls(1).Client(Options{})
	for _, tc := range []struct {
		method, path string
		client       *http.Client
		want         map[int]string // by status; "" is a refusal
	}{
		{http.MethodPost, "/away", looks, map[int]string{301: "", 302: "", 303: "", 307: "", 308: ""}},
		{http.MethodPut, "/away", looks, map[int]string{301: "", 307: ""}},
		{http.MethodPost, "/here", looks, map[int]string{303: "GET here", 307: "POST here", 308: "POST here"}},
		{http.MethodGet, "/away", looks, map[int]string{301: "GET other", 302: "GET other", 307: "GET other"}},
		{http.MethodPost, "/away", calls, map[int]string{301: "", 302: "", 303: "", 307: "", 308: ""}},
		{http.MethodGet, "/away", calls, map[int]string{301: "", 302: "", 303: "", 307: "", 308: ""}},
		{http.MethodGet, "/here", calls, map[int]string{301: "GET here", 307: "GET here"}},
	} {
		for status, want := range tc.want {
			reached = nil
			req := check.Value(http.NewRequestWithContext(t.Context(), tc.method, fmt.Sprintf("%s%s?status=%d", server.URL, tc.path, status), strings.NewReader("secret")))(t)
			resp, err := tc.client.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			if got := strings.Join(reached, " "); got != want || errors.Is(err, ErrRedirect) != (want == "") {
				t.Errorf("%s %s, %d: reached %q, %v; want %q", tc.method, tc.path, status, got, err, want)
			}
		}
	}
}

// A source that another one names does not reach the operator's machine unasked.
func TestAStrictClientReachesPublicAddressesAlone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	all := clients(t, Policy{Loopback: true, All: true})
	if _, _, err := get(t, all.Client(Options{Strict: true}), server.URL); !errors.Is(err, ErrAddress) {
		t.Errorf("loopback: %v", err)
	}
	if _, _, err := get(t, all.Client(Options{Strict: true, Private: true}), server.URL); err != nil {
		t.Errorf("loopback that is asked for: %v", err)
	}
}

func TestBodiesHaveALimitAfterDecompression(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		io.WriteString(z, strings.Repeat("0", 1<<20))
		z.Close()
	}))
	defer server.Close()
	all := clients(t, Policy{Loopback: true})
	if _, _, err := get(t, all.Client(Options{Limit: 1 << 19}), server.URL); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a body of twice the limit: %v", err)
	}
	if _, body, err := get(t, all.Client(Options{Limit: 1 << 20}), server.URL); err != nil || len(body) != 1<<20 {
		t.Errorf("a body of the limit: %d bytes, %v", len(body), err)
	}
}

func TestASecretGoesToItsHostsAlone(t *testing.T) {
	var heard []string
	echo := func(w http.ResponseWriter, r *http.Request) {
		heard = append(heard, r.Header.Get("X-Key"))
	}
	other := httptest.NewServer(http.HandlerFunc(echo))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		echo(w, r)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}
	}))
	defer first.Close()
	u, _ := url.Parse(first.URL)
	all := clients(t, Policy{Loopback: true})
	secret := Secret{Header: "X-Key", Value: "s3cret", Hosts: []string{u.Host}, Plain: true}
	if _, _, err := get(t, all.Client(Options{Secret: secret}), first.URL+"/away"); err != nil {
		t.Fatal(err)
	}
	secret.Plain = false
	if _, _, err := get(t, all.Client(Options{Secret: secret}), first.URL); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 3 || heard[0] != "s3cret" || heard[1] != "" || heard[2] != "" {
		t.Errorf("heard %q: want the secret by the first host alone, and not without encryption", heard)
	}
	if _, _, err := get(t, all.Client(Options{Secret: secret, Only: true}), other.URL); err == nil || !strings.Contains(err.Error(), "bound") {
		t.Errorf("another host than those of the secret: %v", err)
	}
}

func TestBoundHosts(t *testing.T) {
	hosts := []string{"a.example", "b.example:8443", "2001:db8::1"}
	for _, tc := range []struct {
		source, address string
		want            bool
	}{
		{"https://b.example:8443", "https://a.example", true},
		{"https://b.example:8443", "https://A.Example:443/x", true},
		{"https://b.example:8443", "http://a.example:80", true},
		{"https://b.example:8443", "https://a.example:8443", false},
		{"https://b.example:8443", "https://b.example:8443", true},
		{"https://b.example:8443", "https://b.example", false},
		{"https://b.example:8443", "https://x.a.example", false},
		{"https://b.example:8443", "https://a.example.evil", false},
		{"https://b.example:8443", "https://[2001:db8::1]:443", true},
		{"https://a.example:9443", "https://a.example:9443", true}, // the port of the source
		{"https://a.example:9443", "https://a.example", false},
		{"http://[2001:db8::1]:9000", "http://[2001:db8::1]:9000", true},
		{"http://[2001:db8::1]:9000", "http://[2001:db8::1]:9001", false},
	} {
		from, to := check.Value(url.Parse(tc.source))(t), check.Value(url.Parse(tc.address))(t)
		if got := Bound(BoundFrom(from, hosts), to); got != tc.want {
			t.Errorf("from %s to %s: %v", tc.source, tc.address, got)
		}
	}
}

func TestCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	check.OK(t, os.WriteFile(file, []byte("from-file\n"), 0o600))
	t.Setenv("SOURCE_TOKEN", "from-env")
	for _, tc := range []struct {
		c             Credential
		header, value string
	}{
		{Credential{Kind: Bearer, Hosts: []string{"h"}, Env: "SOURCE_TOKEN"}, "Authorization", "Bearer from-env"},
		{Credential{Kind: Header, Header: "X-Key", Hosts: []string{"h"}, File: file}, "X-Key", "from-file"},
		{Credential{Kind: OAuth, ClientID: "me", Hosts: []string{"h"}, File: file}, "", ""},
	} {
		s, err := tc.c.Secret(false, nil)
		if err != nil || tc.c.Validate() != nil || s.Header != tc.header || s.Value != tc.value {
			t.Errorf("%+v: %+v, %v, %v", tc.c, s, err, tc.c.Validate())
		}
	}
	for _, wrong := range []Credential{
		{Kind: "basic", Hosts: []string{"h"}, Env: "A"}, {Kind: Bearer, Env: "A"}, {Kind: Bearer, Hosts: []string{"h"}},
		{Kind: Bearer, Hosts: []string{"h"}, Env: "A", File: "b"}, {Kind: Header, Hosts: []string{"h"}, Env: "A"}, {Kind: OAuth, Hosts: []string{"h"}, Env: "A"},
		{Kind: AWS, Hosts: []string{"h"}, Env: "A"}, {Kind: Bearer, TokenURL: "https://h", Hosts: []string{"h"}, Env: "A"}, {Kind: OAuth, ClientID: "me", Scope: "s", Hosts: []string{"h"}, Env: "A"},
		{Kind: Variable, Variable: "A B", Commands: []string{"c"}, Env: "A"}, {Kind: Variable, Variable: "A", Env: "A"}, {Kind: Bearer, Hosts: []string{"h"}, Commands: []string{"c"}, Env: "A"},
		{Kind: Hook, Scheme: HookStandard, Hosts: []string{"h"}, Env: "A"}, {Kind: Hook, Scheme: HookStandard, Header: "x", Env: "A"}, {Kind: Hook, Scheme: HookKey, Env: "A"}, {Kind: Hook, Scheme: "md5", Header: "x", Env: "A"}, {Kind: Bearer, Scheme: HookStandard, Hosts: []string{"h"}, Env: "A"},
	} {
		if wrong.Validate() == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
	if _, err := (Credential{Kind: Bearer, Env: "SOURCE_TOKEN_THAT_IS_NOT_SET"}).Value(); err == nil {
		t.Error("an empty secret is taken")
	}
	own, shared := Credential{}, Credential{Tenants: []string{"acme"}}
	if !own.For("default", "default") || own.For("acme", "default") || !shared.For("acme", "default") || shared.For("default", "default") {
		t.Error("tenants use what is not theirs, or not what is")
	}
}

func TestAWSRequestsAreSignedForTheirRegion(t *testing.T) {
	t.Setenv("SOURCE_TOKEN", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
	c := Credential{Kind: AWS, ClientID: "AKIDEXAMPLE", Hosts: []string{"amazonaws.com"}, Env: "SOURCE_TOKEN"}
	s := check.Value(c.Secret(false, nil))(t)
	for address, scope := range map[string]string{
		"https://apigateway.eu-west-1.amazonaws.com/restapis?limit=500": "/eu-west-1/apigateway/aws4_request, SignedHeaders=host;x-amz-date, Signature=",
		"https://apigateway.cn-north-1.amazonaws.com.cn/restapis":       "/cn-north-1/apigateway/aws4_request",
		"http://127.0.0.1:5000/restapis":                                "/us-east-1/apigateway/aws4_request",
		"https://apigateway.eu-west-1.amazonaws.com.evil.example/x?y=1": "/us-east-1/apigateway/aws4_request",
	} {
		req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
		check.OK(t, s.Sign(req))
		if got := req.Header.Get("Authorization"); !strings.HasPrefix(got, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") || !strings.Contains(got, scope) {
			t.Errorf("%s: %s, want %s", address, got, scope)
		}
	}
}

// The signature covers the body, which is sent all the same.
func TestAWSRequestsAreSignedWithTheirBody(t *testing.T) {
	t.Setenv("SOURCE_TOKEN", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
	s := check.Value(Credential{Kind: AWS, ClientID: "AKIDEXAMPLE", Hosts: []string{"h"}, Env: "SOURCE_TOKEN"}.Secret(false, nil))(t)
	signatures := map[string]bool{}
	for _, body := range []string{`{"maxResults":100}`, `{"maxResults":200}`} {
		req := check.Value(http.NewRequestWithContext(t.Context(), http.MethodPost, "https://agent-registry.eu-west-1.api.aws/registries/a", strings.NewReader(body)))(t)
		check.OK(t, s.Sign(req))
		if sent, err := io.ReadAll(req.Body); err != nil || string(sent) != body {
			t.Errorf("sent %q, %v", sent, err)
		}
		_, signature, _ := strings.Cut(req.Header.Get("Authorization"), "Signature=")
		signatures[signature] = true
	}
	if len(signatures) != 2 {
		t.Error("two bodies of one length have one signature")
	}
}

func TestTokensAreFetchedAndSentToBoundHostsAlone(t *testing.T) {
	var asked int
	var saw []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			saw = append(saw, r.Header.Get("Authorization"))
			return
		}
		asked++
		if id, secret, _ := r.BasicAuth(); id != "me" || secret != "s3cret" || r.FormValue("scope") != "https://management.azure.com/.default" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"access_token":"t0ken","token_type":"Bearer","expires_in":3600}`)
	}))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	t.Setenv("SOURCE_TOKEN", "s3cret")
	c := Credential{Kind: OAuth, ClientID: "me", TokenURL: server.URL + "/token", Scope: "https://management.azure.com/.default", Hosts: []string{host}, Env: "SOURCE_TOKEN"}
	check.OK(t, c.Validate())
	all := NewTransports(Policy{Loopback: true})
	defer all.Close()
	get := func(hosts []string) error {
		secret := check.Value(c.Secret(true, all.Client(Options{Only: true, Secret: Secret{Hosts: c.Hosts}})))(t)
		secret.Hosts = hosts
		client := all.Client(Options{Secret: secret})
		for range 2 {
			resp, err := client.Get(server.URL + "/apis")
			if err != nil {
				return err
			}
			resp.Body.Close()
		}
		return nil
	}
	if err := get(c.Hosts); err != nil || asked != 1 || strings.Join(saw, " ") != "Bearer t0ken Bearer t0ken" {
		t.Errorf("%v, tokens asked for %d times, sent %q", err, asked, saw)
	}
	saw = nil
	if err := get([]string{"elsewhere.example"}); err != nil || strings.TrimSpace(strings.Join(saw, "")) != "" {
		t.Errorf("%v, sent to a host that is not bound: %q", err, saw)
	}
	c.ClientID = "other"
	if err := get(c.Hosts); err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a token is refused: %v", err)
	}
}
