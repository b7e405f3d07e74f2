package servers

import (
	"context"
	_ "embed"
	"path/filepath"
)

// IdentityName is the name of the identity provider that tests log in at: oidc-provider, which is
// certified for OpenID Connect.
const IdentityName = "identity"

var (
	//go:embed identity/package.json
	identityPackages []byte
	//go:embed identity/package-lock.json
	identityLock []byte
	//go:embed identity/provider.mjs
	identityProvider []byte
)

func makeIdentity(ctx context.Context, home string) error {
	if _, err := tool("node"); err != nil {
		return err
	}
	return npmCI(ctx, home, map[string][]byte{"package.json": identityPackages, "package-lock.json": identityLock, "provider.mjs": identityProvider})
}

// OIDCProvider returns the arguments that run oidc-provider at a port, with its settings in a
// file, in the folder home, which Provision(IdentityName) returns.
func OIDCProvider(home, port, settings string) []string {
	return []string{"node", filepath.Join(home, "provider.mjs"), port, settings}
}
