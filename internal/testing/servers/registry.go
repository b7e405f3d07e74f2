package servers

// RegistryName is the name of the official registry of MCP servers. It needs PostgreSQL.
const RegistryName = "registry"

const registryVersion = "1.8.8"
