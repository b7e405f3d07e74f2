package servers

import (
	"context"
	_ "embed"
)

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

func agentsRecipe() recipe {
	return recipe{name: AgentsName, version: versionOf(agentsLock, agentsPip), make: func(ctx context.Context, home string) error {
		return installPackages(ctx, home, agentsNPM, agentsLock, agentsPip)
	}}
}
