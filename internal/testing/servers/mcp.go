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
	return packagesRecipe(MCPName, npmPackages, npmLock, pipPackages)
}

// npmCI writes files of a recipe into home and installs what the lock among them names.
func npmCI(ctx context.Context, home string, files map[string][]byte) error {
	npm, err := tool("npm")
	if err != nil {
		return err
	}
	if err := writeAll(home, files); err != nil {
		return err
	}
	return unavailable(ctx, runTool(ctx, home, nil, gently(npm, "ci", "--no-audit", "--no-fund", "--loglevel=error")...))
}

// writeAll writes files of a recipe by their names.
func writeAll(home string, files map[string][]byte) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// versionOf returns the version of a recipe that is what its files say.
func versionOf(files ...[]byte) string {
	sum := sha256.Sum256(slices.Concat(files...))
	return hex.EncodeToString(sum[:4])
}

// packagesRecipe is that of programs which npm and pip install as files of theirs say.
func packagesRecipe(name string, npmPackages, npmLock, pipPackages []byte) recipe {
	return recipe{name: name, version: versionOf(npmLock, pipPackages), make: func(ctx context.Context, home string) error {
		return installPackages(ctx, home, npmPackages, npmLock, pipPackages)
	}}
}

// installPackages installs what files of npm and pip name.
func installPackages(ctx context.Context, home string, npmPackages, npmLock, pipPackages []byte) error {
	python, err := tool("python3")
	if err != nil {
		return err
	}
	if err := npmCI(ctx, home, map[string][]byte{"package.json": npmPackages, "package-lock.json": npmLock, "requirements.txt": pipPackages}); err != nil {
		return err
	}
	for _, argv := range [][]string{
		{python, "-m", "venv", filepath.Join(home, "venv")},
		{venvPython(home), "-m", "pip", "install", "--quiet", "--no-deps", "-r", filepath.Join(home, "requirements.txt")},
	} {
		if err := runTool(ctx, home, nil, gently(argv...)...); err != nil {
			return unavailable(ctx, err)
		}
	}
	return nil
}

// Node returns the arguments that run a program of the npm packages in the folder home,
// which Provision returns of MCPName, AgentsName, ClientsName and ConsoleName.
func Node(home, program string, args ...string) []string {
	bin := filepath.Join(home, "node_modules", ".bin")
	return append([]string{filepath.Join(bin, "node"), filepath.Join(bin, program)}, args...)
}

// Python returns those that run a module of its Python packages.
func Python(home, module string, args ...string) []string {
	return append([]string{venvPython(home), "-m", module}, args...)
}
