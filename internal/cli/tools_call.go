package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/schema"
)

// fromStdin is the argument that makes a command read the standard input.
const fromStdin = "-"

func newToolsCall(con *console) *cobra.Command {
	var arguments, search, session, key string
	cmd := &cobra.Command{
		Use:   "call TOOL",
		Short: "Call a tool",
		Long: `Call a tool by its id or callable name, where its source is. What comes of it is
feedback on the search that showed the tool.`,
		Example:           "  toolstream tools call weather/get_forecast --args '{\"city\": \"Bergen\"}'",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: completeEntities(con, toolKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if arguments == fromStdin {
				raw, err := io.ReadAll(con.In)
				if err != nil {
					return err
				}
				arguments = string(raw)
			}
			request := schema.CallRequest{
				Arguments: json.RawMessage(cmp.Or(strings.TrimSpace(arguments), "{}")),
				SearchID:  search, Session: session, IdempotencyKey: key,
			}
			if !json.Valid(request.Arguments) {
				return program.Misused(cmd, "--args is not JSON")
			}
			result, err := con.client().Call(cmd.Context(), args[0], request)
			if err != nil {
				return err
			}
			if err := con.Show(result, func() {
				for _, raw := range result.Content {
					var block struct {
						Type     string `json:"type"`
						Text     string `json:"text"`
						MIMEType string `json:"mimeType"`
					}
					_ = json.Unmarshal(raw, &block) // the server has checked it
					if block.Type != "text" {
						block.Text = fmt.Sprintf("[%s: see --json]", strings.TrimSpace(block.Type+" "+block.MIMEType))
					}
					con.Printf("%s\n", program.Harmless(block.Text))
				}
				if len(result.Content) == 0 && len(result.Structured) > 0 {
					con.Printf("%s\n", program.Harmless(string(result.Structured)))
				}
				if result.Truncated {
					con.Notef("the result is not whole: it was larger than the server's calls.max_result\n")
				}
				if result.Outcome == schema.CallInputRequired {
					con.Printf("the tool asks: %s\n", program.Harmless(string(result.InputRequests)))
				}
			}); err != nil {
				return err
			}
			if result.Outcome != schema.CallOK {
				return errors.New(string(result.Outcome))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&arguments, "args", "", "its arguments, a JSON object; - reads them from the standard input")
	cmd.Flags().StringVar(&search, "search", "", "id of the search that showed the tool; else the newest that did")
	cmd.Flags().StringVar(&session, "session", "", "session of that search")
	cmd.Flags().StringVar(&key, "key", "", "idempotency key: calls with the same one run once")
	return cmd
}
