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

// MCPName is the name of the programs that tests of sources connect to: the reference servers
// and the conformance suite of the MCP project, FastMCP, FastAPI, and Caddy.
const MCPName = "mcp"

// The packages of npm and pip. Servers that speak both eras of the protocol need a newer Node
// than distributions have; npm serves that, too.
var (
	//go:embed mcp/package.json
	npmPackages []byte
	//go:embed mcp/package-lock.json
	npmLock []byte
	//go:embed mcp/requirements.txt
	pipPackages []byte
)

// npmCI writes files of a recipe into home and installs the packages of the lock file.
func npmCI(ctx context.Context, home string, files map[string][]byte) error {
	npm, err := tool("npm")
	if err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), text, 0o644); err != nil {
			return err
		}
	}
	return unavailable(ctx, runTool(ctx, home, nil, gently(npm, "ci", "--no-audit", "--no-fund", "--loglevel=error")...))
}

// versionOf derives the version of a recipe from its files.
func versionOf(files ...[]byte) string {
	sum := sha256.Sum256(slices.Concat(files...))
	return hex.EncodeToString(sum[:4])
}

// packaged makes the programs that npm and pip install from their files.
func packaged(npmPackages, npmLock, pipPackages []byte) func(ctx context.Context, home string) error {
	return func(ctx context.Context, home string) error {
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
}

// Node returns the arguments that run a program of the npm packages in the folder home,
// which Provision returns for MCPName, AgentsName, ClientsName and ConsoleName.
func Node(home, program string, args ...string) []string {
	bin := filepath.Join(home, "node_modules", ".bin")
	return append([]string{filepath.Join(bin, "node"), filepath.Join(bin, program)}, args...)
}

// Python returns the command and arguments that run a module of the Python packages.
func Python(home, module string, args ...string) []string {
	return append([]string{venvPython(home), "-m", module}, args...)
}
