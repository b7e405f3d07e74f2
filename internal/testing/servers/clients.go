package servers

import _ "embed"

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

func clientsRecipe() recipe { return packagesRecipe(ClientsName, clientsNPM, clientsLock, clientsPip) }
