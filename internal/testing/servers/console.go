package servers

import (
	"context"
	_ "embed"
)

// ConsoleName is that of the programs that look at the console: playwright-core, which drives
// a browser, axe, which finds what keeps people out, and Lighthouse.
const ConsoleName = "console"

var (
	//go:embed console/package.json
	consolePackages []byte
	//go:embed console/package-lock.json
	consoleLock []byte
)

func consoleRecipe() recipe {
	return recipe{name: ConsoleName, version: versionOf(consoleLock), make: func(ctx context.Context, home string) error {
		return npmCI(ctx, home, map[string][]byte{"package.json": consolePackages, "package-lock.json": consoleLock})
	}}
}
