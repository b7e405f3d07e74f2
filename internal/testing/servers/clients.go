package servers

import _ "embed"

// ClientsName is the name of the programs that lint the OpenAPI document, generate clients
// from it, and check and test the clients.
const ClientsName = "clients"

var (
	//go:embed clients/package.json
	clientsNPM []byte
	//go:embed clients/package-lock.json
	clientsLock []byte
	//go:embed clients/requirements.txt
	clientsPip []byte
)
