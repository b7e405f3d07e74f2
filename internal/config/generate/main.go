// Command generate writes docs/configuration.md from the settings. It is started in the
// folder internal/config.
package main

import (
	"os"

	"github.com/toolstream/toolstream/internal/config"
)

const head = `<!-- Made by go generate ./internal/config from settings.go; do not edit. -->
# Configuration

Settings come from a YAML file (` + "`--config`" + `), the environment and the flags of ` + "`toolstream up`" + `. The environment overrides the file, and flags override both. The variable of ` + "`embedder.model`" + ` is ` + "`TOOLSTREAM_EMBEDDER_MODEL`" + `; it takes a list as text with commas, and a mapping as JSON. ` + "`toolstream config print`" + ` shows the values in force, and with ` + "`--diff`" + ` only the changed ones.

`

func main() {
	if err := os.WriteFile("../../docs/configuration.md", []byte(head+config.Markdown()), 0o644); err != nil {
		panic(err)
	}
}
