package servers

import _ "embed"

// AgentsName is the name of the programs that use toolstream as agents in tests: MCP
// clients and agent frameworks.
const AgentsName = "agents"

var (
	//go:embed agents/package.json
	agentsNPM []byte
	//go:embed agents/package-lock.json
	agentsLock []byte
	//go:embed agents/requirements.txt
	agentsPip []byte
)
