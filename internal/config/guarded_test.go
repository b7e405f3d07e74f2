package config

import "testing"

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
	} {
		if err := (Config{Listen: tc.listen, Auth: tc.auth}).Guarded(); (err == nil) != tc.starts {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
