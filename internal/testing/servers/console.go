package servers

import (
	_ "embed"
)

// ConsoleName is the name of the programs that test the console: playwright-core, which drives
// a browser, axe, which finds accessibility problems, and Lighthouse.
const ConsoleName = "console"

var (
	//go:embed console/package.json
	consolePackages []byte
	//go:embed console/package-lock.json
	consoleLock []byte
)
