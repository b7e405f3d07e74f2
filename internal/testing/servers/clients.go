package servers

import (
	"context"
	_ "embed"
)

// ClientsName is that of the programs that lint the OpenAPI document, make clients of it,
// and check and test those.
const ClientsName = "clients"

var (
	//go:embed clients/package.json
	clientsNPM []byte
	//go:embed clients/package-lock.json
	clientsLock []byte
	//go:embed clients/requirements.txt
	clientsPip []byte
)

func clientsRecipe() recipe {
	return recipe{name: ClientsName, version: versionOf(clientsLock, clientsPip), make: func(ctx context.Context, home string) error {
		return installPackages(ctx, home, clientsNPM, clientsLock, clientsPip)
	}}
}
