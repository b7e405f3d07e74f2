package servers

import _ "embed"

// AgentsName is that of the programs with which agents use toolstream in tests: clients of
// MCP, and frameworks for agents.
const AgentsName = "agents"

var (
	//go:embed agents/package.json
	agentsNPM []byte
	//go:embed agents/package-lock.json
	agentsLock []byte
	//go:embed agents/requirements.txt
	agentsPip []byte
)

func agentsRecipe() recipe { return packagesRecipe(AgentsName, agentsNPM, agentsLock, agentsPip) }
