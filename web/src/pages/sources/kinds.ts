// The kinds of sources, the most usual first. url is an example of an address; absent where there is none.
export const kinds: { kind: string; name: string; about: string; url?: string }[] = [
  { kind: "mcp", name: "MCP server", about: "The tools of an MCP server.", url: "https://shop.example.com/mcp" },
  { kind: "openapi", name: "OpenAPI document", about: "The operations of an OpenAPI or Swagger document, or of the documents that a page of Swagger UI or ReDoc names.", url: "https://shop.example.com/openapi.json" },
  { kind: "folder", name: "Folder", about: "The documents below a folder of the server's machine, in any format.", url: "/srv/tools" },
  { kind: "a2a", name: "A2A agent", about: "The skills of an agent, by the address of its card or its host.", url: "https://agent.example.com" },
  { kind: "mcp-registry", name: "MCP registry", about: "The servers that a registry lists: each becomes a source of its own.", url: "https://registry.example.com" },
  { kind: "docker-catalog", name: "Docker MCP catalogue", about: "The remote servers of a catalogue become sources; of images it has the tools that the catalogue describes.", url: "https://example.com/catalog.yaml" },
  { kind: "kubernetes", name: "Kubernetes cluster", about: "The objects of a cluster that stand for MCP servers and OpenAPI documents." },
  { kind: "kong", name: "Kong gateway", about: "The services behind a Kong gateway, by its admin API.", url: "http://kong.example.com:8001" },
  { kind: "azure", name: "Azure API Management", about: "The APIs of an API Management instance.", url: "https://management.azure.com/subscriptions/…" },
  { kind: "aws", name: "Amazon API Gateway", about: "The APIs of a region.", url: "https://apigateway.eu-west-1.amazonaws.com" },
  { kind: "caddy", name: "Caddy", about: "The documents below the routes of a Caddy server, by its admin API.", url: "http://caddy.example.com:2019" },
  { kind: "traefik", name: "Traefik", about: "The documents below the routes of a Traefik proxy, by its API.", url: "http://traefik.example.com:8080" },
  { kind: "events", name: "List and events", about: "A list over HTTP whose items are documents, and events that say when to look again.", url: "https://hub.example.com/apis" },
];
