// Command toolstream-lab measures, simulates and trains toolstream on data sets, with the code
// that serves.
package main

import (
	"os"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/lab/commands"
)

func main() { os.Exit(program.Main(commands.Run)) }
