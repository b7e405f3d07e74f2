package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/schema"
)

// wanted holds the flags that choose the parts of each tool in an answer.
type wanted struct {
	include []string
	as      string
	callID  string
	budget  int
}

func (w *wanted) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&w.include, "include", nil, "parts that each tool comes with: schema, output_schema, examples, parameters, signature (separated by commas)")
	flags.StringVar(&w.as, "as", "", "print the tools alone, as JSON in this form: mcp, openai, anthropic, tool_reference or tool_search_output")
	flags.StringVar(&w.callID, "call-id", "", "of the tool_search_call that a tool_search_output answers")
	flags.IntVar(&w.budget, "token-budget", 0, "each tool with its signature, and as many of the first as fit into so many tokens with their schemas, or in the form")
	program.Fixed(cmd, "as", "mcp", "openai", "anthropic", "tool_reference", "tool_search_output")
}

// of returns the request for these parts.
func (w *wanted) of(flags *pflag.FlagSet) schema.Wanted {
	out := schema.Wanted{As: schema.Form(w.as), CallID: w.callID}
	for _, part := range w.include {
		out.Include = append(out.Include, schema.Include(part))
	}
	if flags.Changed("token-budget") {
		out.TokenBudget = &w.budget
	}
	return out
}

func newToolsDescribe(con *console) *cobra.Command {
	var w wanted
	cmd := &cobra.Command{
		Use:   "describe ID...",
		Short: "Show several tools by their ids or callable names, as language models take them",
		Example: `  toolstream tools describe github/create_issue helpdesk_create_ticket
  toolstream tools describe github_create_issue --as anthropic > tools.json`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: completeEntities(con, toolKind()),
		RunE: func(cmd *cobra.Command, args []string) error {
			request := schema.DescribeRequest{IDs: args, Wanted: w.of(cmd.Flags())}
			checked := request
			if err := checked.Validate(); err != nil {
				return program.Refused(cmd, err)
			}
			answer, err := con.client().Describe(cmd.Context(), request)
			if err != nil {
				return err
			}
			if err := printDescribed(con, answer, w.as != ""); err != nil || len(answer.Unknown) == 0 {
				return err
			}
			unknown := fmt.Errorf("these name no tool, or more than one: %q; `toolstream search` and `toolstream tools list` show ids", answer.Unknown)
			return program.PartlyError(len(answer.Results), unknown)
		},
	}
	w.addTo(cmd)
	return cmd
}

func printDescribed(con *console, a schema.DescribeResponse, form bool) error {
	if form && !con.Structured() {
		return con.PrintData(a.Tools)
	}
	return con.Show(a, func() {
		for _, t := range a.Results {
			con.PrintName(t.ID)
			con.PrintPairs("id", t.ID, "called", t.CallableName, "provider", t.Provider, "title", t.Title, "description", t.Description, "flags", strings.Join(t.Flags, ", "))
			printDetails(con, &t.Details)
		}
		printTokens(con, a.InForm)
	})
}

// printDetails prints the requested details of a tool.
func printDetails(con *console, d *schema.Details) {
	var pairs []string
	pairs = append(pairs, "signature", d.Signature, "schema", string(d.Schema), "output", string(d.OutputSchema))
	for _, example := range d.Examples {
		pairs = append(pairs, "example", example)
	}
	for _, p := range d.Parameters {
		pairs = append(pairs, "parameter", fmt.Sprintf("%s (%s) %s", p.Name, p.Type, p.Description))
	}
	con.PrintPairs(append(pairs, "not called", d.Why, "not checked", d.Unchecked)...)
}

func printTokens(con *console, a schema.InForm) {
	if a.Tokenizer != "" {
		con.Notef("%d tokens by %s\n", a.Tokens, a.Tokenizer)
	}
}
