package identity

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/level"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/internal/testing/servers"
)

// keycloak is the address of a running Keycloak.
type keycloak string

func (k keycloak) issuer(realm string) string { return string(k) + "/realms/" + realm }

func (k keycloak) endpoint(realm string) string {
	return k.issuer(realm) + "/protocol/openid-connect/token"
}

// admin sends what is to be made or changed below a path, or an address. It returns the
// address of what was made.
func (k keycloak) admin(t *testing.T, method, at string, body any) string {
	t.Helper()
	token := granted(t, k.endpoint("master"), url.Values{"grant_type": {"password"}, "client_id": {"admin-cli"}, "username": {"admin"}, "password": {"admin"}})
	text := check.Value(json.Marshal(body))(t)
	if !strings.HasPrefix(at, string(k)) {
		at = string(k) + "/admin/realms" + at
	}
	req := check.Value(http.NewRequestWithContext(t.Context(), method, at, bytes.NewReader(text)))(t)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp := check.Value(http.DefaultClient.Do(req))(t)
	resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s", method, at, resp.Status)
	}
	return resp.Header.Get("Location")
}

// realm makes a realm. Its client robot has tokens for the audience, stranger for another
// one, brief for the audience and a second. Ada may log in by the client toolstream, and sign in by the client console.
func (k keycloak) realm(t *testing.T, name, audience string) {
	t.Helper()
	type object = map[string]any
	mapper := func(name, kind string, config object) object {
		config["access.token.claim"] = "true"
		return object{"name": name, "protocol": "openid-connect", "protocolMapper": kind, "config": config}
	}
	claims := func(audience string) []any {
		return []any{
			mapper("audience", "oidc-audience-mapper", object{"included.custom.audience": audience}),
			mapper("org", "oidc-hardcoded-claim-mapper", object{"claim.name": "org", "claim.value": "acme", "jsonType.label": "String"}),
		}
	}
	robot := func(id, audience, seconds string) object {
		return object{
			"clientId": id, "secret": "robot-secret", "serviceAccountsEnabled": true, "standardFlowEnabled": false,
			"protocolMappers": claims(audience), "attributes": object{"access.token.lifespan": seconds},
		}
	}
	account := func(client string) object {
		return object{"username": "service-account-" + client, "enabled": true, "serviceAccountClientId": client, "realmRoles": []string{"robots"}}
	}
	k.admin(t, http.MethodPost, "", object{
		"realm": name, "enabled": true, "roles": object{"realm": []any{object{"name": "robots"}, object{"name": "people"}}},
		"clients": []any{
			robot("robot", audience, "3600"), robot("stranger", "https://other.example.com", "3600"), robot("brief", audience, "1"),
			object{
				"clientId": "toolstream", "publicClient": true, "standardFlowEnabled": false, "protocolMappers": claims(audience),
				"attributes": object{"oauth2.device.authorization.grant.enabled": "true", "access.token.lifespan": "15"},
			},
			object{
				"clientId": "console", "publicClient": true, "redirectUris": []string{audience + "/v1/session:callback"}, "protocolMappers": claims(audience),
				"attributes": object{"pkce.code.challenge.method": "S256", "access.token.lifespan": "15"},
			},
		},
		"users": []any{account("robot"), account("stranger"), account("brief"), object{
			"username": "ada", "enabled": true, "email": "ada@example.com", "firstName": "Ada", "lastName": "Lovelace",
			"credentials": []any{object{"type": "password", "value": "secret"}}, "realmRoles": []string{"people", "offline_access"},
		}},
	})
}

// keys is a component of a realm with one key, as PEM.
func keys(name, key, priority, active, enabled string) map[string]any {
	return map[string]any{"name": name, "providerId": "rsa", "providerType": "org.keycloak.keys.KeyProvider", "config": map[string][]string{
		"privateKey": {key}, "priority": {priority}, "active": {active}, "enabled": {enabled},
	}}
}

func privateKey(t *testing.T) string {
	t.Helper()
	key := check.Value(rsa.GenerateKey(rand.Reader, 2048))(t)
	encoded := check.Value(x509.MarshalPKCS8PrivateKey(key))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

func (k keycloak) robot(t *testing.T, realm, client string) string {
	t.Helper()
	return granted(t, k.endpoint(realm), url.Values{"grant_type": {"client_credentials"}, "client_id": {client}, "client_secret": {"robot-secret"}})
}

// Keycloak has roles within a claim, several issuers at one address, and keys that it still
// names when it no longer signs by them.
func TestKeycloak(t *testing.T) {
	level.Campaign(t)
	home, port := provisioned(t, servers.KeycloakName), check.FreePort(t)
	k := keycloak("http://127.0.0.1:" + port)
	env, argv, err := servers.Keycloak(home, port)
	check.OK(t, err)
	program := process.LaunchAt(t, port, env, argv...)
	t.Setenv("TOOLSTREAM_AUTH_OIDC_CLIENT_ID", "console")
	s := started(t, k.issuer("tools"))
	first := privateKey(t)
	var key string
	for _, realm := range []string{"others", "tools"} { // two issuers that sign by one key
		k.realm(t, realm, s.url)
		key = k.admin(t, http.MethodPost, "/"+realm+"/components", keys("first", first, "200", "true", "true"))
	}

	good := k.robot(t, "tools", "robot")
	s.takes(t, "a token", good)
	s.refuses(t, "of another realm", k.robot(t, "others", "robot"))
	s.refuses(t, "for another audience", k.robot(t, "tools", "stranger"))
	s.refuses(t, "signed by none", forged(t, good, nil))
	brief := k.robot(t, "tools", "brief")
	process.Await(t, "a token expires", func() (bool, error) {
		code, why := s.says(t, brief)
		return code == http.StatusUnauthorized && strings.Contains(why, "expired"), nil
	})

	k.admin(t, http.MethodPut, key, keys("first", first, "200", "false", "true"))
	k.admin(t, http.MethodPost, "/tools/components", keys("second", privateKey(t), "300", "true", "true"))
	s.takes(t, "signed by a new key", k.robot(t, "tools", "robot"))
	s.takes(t, "signed by a key that is passive", good)
	k.admin(t, http.MethodPut, key, keys("first", first, "200", "false", "false"))
	s.takes(t, "signed by a key that was not heard to be disabled yet", good)
	k.admin(t, http.MethodPost, "/tools/components", keys("third", privateKey(t), "400", "true", "true"))
	newest := k.robot(t, "tools", "robot")
	s.takes(t, "signed by the newest key", newest)
	s.refuses(t, "signed by a key that is disabled", good)

	s.login(t, map[string]string{"username": "ada", "password": "secret"})
	for range 2 { // each time, the token is renewed, as it expires soon
		if ok, said := s.run(t, "tools", "list"); !ok {
			t.Errorf("%s\n%s", said, s.Log())
		}
	}
	if ok, said := s.run(t, "sources", "pause", "anything"); ok || !strings.Contains(said, "needs the role writer") {
		t.Errorf("what people may not: %s", said)
	}
	if ok, said := s.run(t, "logout"); !ok {
		t.Error(said)
	}
	s.renewsUntilTheSignOut(t, s.browser(t, map[string]string{"username": "ada", "password": "secret"}))
	program.Kill()
	s.takes(t, "while Keycloak is away", newest)
}
