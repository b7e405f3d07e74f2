package config

import (
	"testing"

	"github.com/toolstream/toolstream/internal/identity"
)

// A server that other machines reach does not start open by an oversight.
func TestAnOpenServerIsToBeWanted(t *testing.T) {
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
		for _, c := range []Config{
			{Listen: tc.listen, Auth: tc.auth}, {Listen: "127.0.0.1:8665", NATS: NATS{Listen: tc.listen}, Auth: tc.auth},
		} {
			if err := c.Guarded(); (err == nil) != tc.starts {
				t.Errorf("%+v: %v", tc, err)
			}
		}
	}
}

func TestNamesOfGroupsMayHoldAnything(t *testing.T) {
	got, err := OIDC{Roles: []string{"cn=tools,ou=ops=operator", "*=reader"}}.RoleOf()
	if err != nil || len(got) != 2 || got["cn=tools,ou=ops"] != identity.Operator || got["*"] != identity.Reader {
		t.Errorf("%v %v", got, err)
	}
}
