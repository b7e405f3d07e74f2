package servers

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
)

// MCPName is that of the programs that tests of sources look at: the reference servers
// and the conformance suite of the MCP project, FastMCP, FastAPI, and Caddy.
const MCPName = "mcp"

// What npm and pip install. Servers that speak both eras of the protocol want a newer Node
// than distributions have, which npm serves, too.
var (
	//go:embed mcp/package.json
	npmPackages []byte
	//go:embed mcp/package-lock.json
	npmLock []byte
	//go:embed mcp/requirements.txt
	pipPackages []byte
)

func mcpRecipe() recipe {
	sum := sha256.Sum256(slices.Concat(npmLock, pipPackages))
	return recipe{name: MCPName, version: hex.EncodeToString(sum[:4]), make: makeMCP}
}

func makeMCP(ctx context.Context, home string) error {
	npm, err := tool("npm")
	if err != nil {
		return err
	}
	python, err := tool("python3")
	if err != nil {
		return err
	}
	packages := filepath.Join(home, "requirements.txt")
	for path, text := range map[string][]byte{
		filepath.Join(home, "package.json"): npmPackages, filepath.Join(home, "package-lock.json"): npmLock, packages: pipPackages,
	} {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{
		{npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"},
		{python, "-m", "venv", filepath.Join(home, "venv")},
		{venvPython(home), "-m", "pip", "install", "--quiet", "--no-deps", "-r", packages},
	} {
		if err := runTool(ctx, home, nil, gently(argv...)...); err != nil {
			return unavailable(ctx, err)
		}
	}
	return nil
}

// Node returns the arguments that run a program of the npm packages in the folder home,
// which Provision(MCPName) returns.
func Node(home, program string, args ...string) []string {
	bin := filepath.Join(home, "node_modules", ".bin")
	return append([]string{filepath.Join(bin, "node"), filepath.Join(bin, program)}, args...)
}

// Python returns those that run a module of its Python packages.
func Python(home, module string, args ...string) []string {
	return append([]string{venvPython(home), "-m", module}, args...)
}
