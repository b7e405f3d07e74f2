package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/pkg/schema"
)

// fromStdin is the argument for which the standard input is read.
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
		ValidArgsFunction: completeEntities(con, toolShelf()),
		RunE: func(cmd *cobra.Command, args []string) error {
			if arguments == fromStdin {
				raw, err := io.ReadAll(con.in)
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
				return misused(cmd, "--args is no JSON")
			}
			result, err := con.client().Call(cmd.Context(), args[0], request)
			if err != nil {
				return err
			}
			if err := con.show(result, func() { con.printResult(result) }); err != nil {
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

// printResult prints the texts of a result, and of anything else what it is. The tool has
// written them, and steers no terminal.
func (c *console) printResult(r schema.CallResult) {
	for _, raw := range r.Content {
		var block struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			MIMEType string `json:"mimeType"`
		}
		_ = json.Unmarshal(raw, &block) // the server has checked it
		if block.Type != "text" {
			block.Text = fmt.Sprintf("[%s: see --json]", strings.TrimSpace(block.Type+" "+block.MIMEType))
		}
		c.printf("%s\n", harmless(block.Text))
	}
	if len(r.Content) == 0 && len(r.Structured) > 0 {
		c.printf("%s\n", harmless(string(r.Structured)))
	}
	if r.Truncated {
		c.notef("the result is not whole: it was larger than the server's calls.max_result\n")
	}
	if r.Outcome == schema.CallInputRequired {
		c.printf("the tool asks: %s\n", harmless(string(r.InputRequests)))
	}
}
