package cli

import (
	"io"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/mcpserver"
)

func newMCP(con *console) *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve MCP on the standard streams, for agents on this machine", Args: cobra.NoArgs,
		Long: `Serves the tools search_tools, describe_tools and call_tool, and the pinned tools, to the
agent that starts it. It asks the server of --server, where everything happens. Agents that
speak MCP over HTTP need no command: the server answers them at /mcp.`,
		Example: `  claude mcp add toolstream -- toolstream mcp
  toolstream mcp --server https://tools.example.com --token "$TOKEN"
  toolstream mcp pin github/create_issue`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := mcpserver.New(program.Version().Version, con.client()).Run(cmd.Context(), &sdk.IOTransport{Reader: io.NopCloser(con.In), Writer: leftOpen{con.Out}})
			if cmd.Context().Err() != nil {
				return nil
			}
			return err
		},
	}
	cmd.AddCommand(newMCPPins(con), newMCPPin(con), newMCPUnpin(con))
	return cmd
}

// leftOpen is a writer that is not closed.
type leftOpen struct{ io.Writer }

// Close implements io.Closer.
func (leftOpen) Close() error { return nil }

func newMCPPins(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "pins", Short: "List the tools that agents see without a search", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var p mcpserver.Pins
			if err := con.client().Get(cmd.Context(), "/v1/pins", nil, &p); err != nil {
				return err
			}
			return showPins(con, p)
		},
	}
}

func newMCPPin(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "pin TOOL...", Short: "Show tools to every agent without a search, in addition to search_tools, describe_tools and call_tool", Args: cobra.MinimumNArgs(1),
		Example: "  toolstream mcp pin github/create_issue",
		RunE: func(cmd *cobra.Command, args []string) error {
			return changePins(con, cmd, func(tools []string) []string {
				for _, tool := range args {
					if !slices.Contains(tools, tool) {
						tools = append(tools, tool)
					}
				}
				return tools
			})
		},
	}
}

func newMCPUnpin(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "unpin TOOL...", Short: "Show tools to agents only if a search finds them", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return changePins(con, cmd, func(tools []string) []string {
				return slices.DeleteFunc(tools, func(tool string) bool { return slices.Contains(args, tool) })
			})
		},
	}
}

func changePins(con *console, cmd *cobra.Command, change func(tools []string) []string) error {
	var p mcpserver.Pins
	if err := con.client().Get(cmd.Context(), "/v1/pins", nil, &p); err != nil {
		return err
	}
	p.Tools = change(p.Tools)
	if err := con.client().Put(cmd.Context(), "/v1/pins", p, &p); err != nil {
		return err
	}
	return showPins(con, p)
}

func showPins(con *console, p mcpserver.Pins) error {
	return con.Show(p, func() {
		for _, tool := range p.Tools {
			con.Printf("%s\n", tool)
		}
		if len(p.Tools) == 0 {
			con.Notef("no tool is pinned\n")
		}
	})
}
