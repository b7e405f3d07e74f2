package config

import (
	"testing"

	"github.com/toolstream/toolstream/internal/kit/identity"
)

// A server that other machines reach does not start open by an oversight.
func TestAnOpenServerNeedsConsent(t *testing.T) {
	for _, tc := range []struct {
		listen string
		auth   Auth
		starts bool
	}{
		{"127.0.0.1:8665", Auth{}, true},
		{"localhost:8665", Auth{}, true},
		{"[::1]:8665", Auth{}, true},
		{"0.0.0.0:8665", Auth{}, false},
		{":8665", Auth{}, false},
		{"[::]:8665", Auth{}, false},
		{"10.0.0.7:8665", Auth{}, false},
		{"tools.example:8665", Auth{}, false},
		{"0.0.0.0:8665", Auth{TokensFile: "tokens"}, true},
		{"0.0.0.0:8665", Auth{Mode: "none"}, true},
		{"0.0.0.0:8665", Auth{OIDC: OIDC{Issuer: "https://id.example.com"}}, true},
	} {
		if err := (Config{Listen: tc.listen, Auth: tc.auth}).Guarded(); (err == nil) != tc.starts {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

func TestNamesOfGroupsMayHoldAnything(t *testing.T) {
	got, err := OIDC{Roles: []string{"cn=tools,ou=ops=operator", "*=reader"}}.RoleOf()
	if err != nil || len(got) != 2 || got["cn=tools,ou=ops"] != identity.Operator || got["*"] != identity.Reader {
		t.Errorf("%v %v", got, err)
	}
}

// Keys that come over plain HTTP may be anybody's.
func TestAnIssuerIsConfidential(t *testing.T) {
	for address, ok := range map[string]bool{
		"https://id.example.com": true, "http://127.0.0.1:8080/realms/a": true, "http://localhost:8080": true, "http://[::1]": true,
		"http://id.example.com": false, "http://10.0.0.7": false, "http://localhost.example.com": false, "ftp://127.0.0.1": false, "": false, "id.example.com": false,
	} {
		if Confidential(address) != ok {
			t.Errorf("%q is confidential: %v", address, !ok)
		}
	}
	c, err := Load("", map[string]any{"auth.oidc.issuer": "http://id.example.com", "auth.oidc.audience": "a"})
	if err == nil {
		t.Errorf("%+v", c.Auth)
	}
}
