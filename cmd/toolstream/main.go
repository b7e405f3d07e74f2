// Command toolstream is the streaming index that finds the right tool for an
// agent among thousands: one binary for the servers and for their clients.
package main

import (
	"os"

	"github.com/toolstream/toolstream/internal/cli"
	"github.com/toolstream/toolstream/internal/cli/program"
)

func main() { os.Exit(program.Main(cli.Run)) }
