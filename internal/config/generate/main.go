// Command generate writes docs/configuration.md from the settings. It is started in the
// folder internal/config.
package main

import (
	"os"

	"github.com/toolstream/toolstream/internal/config"
)

const head = `<!-- Made by go generate ./internal/config from settings.go; do not edit. -->
# Configuration

Settings come from a YAML file (` + "`--config`" + `), the environment and the flags of ` + "`toolstream up`" + `. The environment overrides the file, and flags override both. The variable of a setting is its name in capitals after TOOLSTREAM, with underscores: ` + "`embedder.model`" + ` is ` + "`TOOLSTREAM_EMBEDDER_MODEL`" + `. ` + "`toolstream config print`" + ` shows the values in force, and ` + "`--diff`" + ` those that differ from the defaults.

`

func main() {
	if err := os.WriteFile("../../docs/configuration.md", []byte(head+config.Markdown()), 0o644); err != nil {
		panic(err)
	}
}
