package servers

import "context"

// RegistryName is that of the official registry of MCP servers. It wants a PostgreSQL.
const RegistryName = "registry"

const registryVersion = "1.8.8"

func registryRecipe() recipe {
	return recipe{name: RegistryName, version: registryVersion, make: func(ctx context.Context, home string) error {
		return install(ctx, home, "github.com/modelcontextprotocol/registry/cmd/registry", registryVersion)
	}}
}
