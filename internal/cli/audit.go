package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/access/audit"
	"github.com/toolstream/toolstream/internal/cli/program"
)

func newAudit(con *console) *cobra.Command {
	return program.Group(&cobra.Command{Use: "audit", Short: "Show, verify and export who did what"},
		newAuditTail(con), newAuditVerify(con), newAuditExport(con))
}

// tailEvery is the interval between two requests for more records.
const tailEvery = time.Second

func newAuditTail(con *console) *cobra.Command {
	var follow bool
	var who, action, tool, decision, since string
	var limit int
	cmd := &cobra.Command{
		Use: "tail", Short: "Show the last records of the audit log", Args: cobra.NoArgs,
		Example: "  toolstream audit tail -f\n  toolstream audit tail --since 24h --decision denied --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := program.KnownWord(cmd, "--decision", cmp.Or(decision, string(audit.Denied)), string(audit.Allowed), string(audit.Denied)); err != nil {
				return err
			}
			if limit < 1 || limit > 1000 {
				return program.Misused(cmd, "--limit is %d; it is 1 to 1000", limit)
			}
			from, err := timeOf(cmd, since)
			if err != nil {
				return err
			}
			query := given("who", who, "action", action, "tool", tool, "decision", decision, "since", from, "limit", strconv.Itoa(limit))
			all := query.Has("since") // otherwise the last records
			shown := []audit.Opened{}
			for first := true; ; first = false {
				var page audit.Excerpt
				err := con.client().Get(cmd.Context(), "/v1/audit", query, &page)
				if follow && cmd.Context().Err() != nil {
					return nil
				}
				if err != nil {
					return err
				}
				query.Set("cursor", page.Cursor)
				shown = append(shown, page.Records...)
				if follow || page.End || !all {
					if err := showAudit(con, shown, first, follow); err != nil || !follow {
						return err
					}
					shown = nil
				}
				if !page.End {
					continue
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(tailEvery):
				}
			}
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&follow, "follow", "f", false, "print new records too, until interrupted")
	flags.StringVar(&who, "who", "", "only of the caller of this name")
	flags.StringVar(&action, "action", "", "only of this operation, such as put-source")
	flags.StringVar(&tool, "tool", "", "only about this tool or provider")
	flags.StringVar(&decision, "decision", "", "only allowed, or denied")
	flags.StringVar(&since, "since", "", sinceHelp)
	flags.IntVar(&limit, "limit", 100, "how many, 1 to 1000; with --since, in each call of the server")
	program.Fixed(cmd, "decision", string(audit.Allowed), string(audit.Denied))
	return cmd
}

const sinceHelp = "only since this `TIME` (2026-01-31T08:00:00Z), or so long ago (36h)"

// timeOf returns the time that a flag means, as a query parameter.
func timeOf(cmd *cobra.Command, since string) (string, error) {
	if since == "" {
		return "", nil
	}
	if ago, err := time.ParseDuration(since); err == nil {
		return time.Now().Add(-ago).UTC().Format(time.RFC3339), nil
	}
	at, err := time.Parse(time.RFC3339, since)
	if err != nil {
		return "", program.Misused(cmd, "--since is %q; it is a time such as 2026-01-31T08:00:00Z, or how long ago, such as 36h", since)
	}
	return at.UTC().Format(time.RFC3339), nil
}

// showAudit prints records: as a whole, or one by one if more follow.
func showAudit(con *console, records []audit.Opened, first, follow bool) error {
	if con.Structured() && !follow {
		return con.PrintData(records)
	}
	if con.Structured() {
		for _, r := range records {
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Fprintln(con.Out, string(line))
		}
		return nil
	}
	t := program.NewTable("TIME", "WHO", "ROLE", "ACTION", "STATUS", "DECISION", "PATH…")
	for _, r := range records {
		t.Add(r.Time.Local().Format(time.DateTime), caller(r), r.Role, r.Action, count(r.Status), r.Decision, r.Path+told(r))
	}
	if first || len(records) > 0 {
		con.PrintTable(t)
	}
	return nil
}

// caller returns the subject or the address of a record, "(erased)" if it was erased.
func caller(r audit.Opened) string {
	switch {
	case r.Erased:
		return "(erased)"
	case r.Subject != "":
		return r.Subject
	}
	return r.Address
}

// told returns the details of a record that have no column.
func told(r audit.Opened) string {
	var parts []string
	for i, t := range r.Tools {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(r.Tools)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s@%d", t.ID, t.Revision))
	}
	parts = append(parts, r.Changed...)
	if r.DryRun {
		parts = append(parts, "dry run")
	}
	if r.Reason != "" {
		parts = append(parts, r.Reason)
	}
	if r.Count > 1 {
		parts = append(parts, fmt.Sprintf("%d times", r.Count))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func newAuditExport(con *console) *cobra.Command {
	var since string
	cmd := &cobra.Command{
		Use: "export", Short: "Print the audit log as JSON Lines that can be verified", Args: cobra.NoArgs,
		Long:    "Prints the audit log of the tenant as it was written, one record a line, for `toolstream audit verify FILE`. Callers, paths and tools are sealed in it; `toolstream audit tail` shows them.",
		Example: "  toolstream audit export > audit.jsonl\n  toolstream audit verify audit.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := timeOf(cmd, since)
			if err != nil {
				return err
			}
			body, _, err := con.client().Send(cmd.Context(), http.MethodGet, "/v1/audit:export", given("since", from), "", nil)
			if err != nil {
				return err
			}
			_, err = io.Copy(con.Out, body)
			return errors.Join(err, body.Close())
		},
	}
	cmd.Flags().StringVar(&since, "since", "", sinceHelp+"; such an export is verified with --partial")
	return cmd
}

func newAuditVerify(con *console) *cobra.Command {
	var heads string
	var partial bool
	cmd := &cobra.Command{
		Use: "verify [FILE]", Short: "Look for records that were changed, removed, inserted or moved", Args: cobra.MaximumNArgs(1),
		Long: "Verifies the audit log of the tenant as the server has it, or an export of it. Says which record breaks which chain, and why; the exit code is then 1.\n\n" +
			"Records at the end of a chain can be cut off without a trace in the rest. The command compares the ends that the server knows; keep the output of `verify --json` elsewhere, and give it to a later verify with --heads, so that not even the server can hide a cut.",
		Example: "  toolstream audit verify --json > heads.json\n  toolstream audit verify --heads heads.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			known, err := readHeads(heads)
			if err != nil {
				return err
			}
			v := &audit.Verifier{Partial: partial}
			if len(args) == 1 {
				err = verifyFile(v, args[0])
			} else {
				known, err = verifyServer(cmd.Context(), con, v, known)
			}
			if err != nil {
				return err
			}
			return showReport(con, v.Finish(known...))
		},
	}
	cmd.Flags().StringVar(&heads, "heads", "", "`FILE` with the JSON output of an earlier verify: the log must reach as far")
	cmd.Flags().BoolVar(&partial, "partial", false, "the first records are not there: they have aged out, or the export has a --since")
	return cmd
}

// readHeads returns the ends of chains that a file of a verification holds.
func readHeads(file string) ([]audit.Head, error) {
	if file == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var report audit.Report
	if err := json.Unmarshal(raw, &report); err != nil {
		return nil, fmt.Errorf("%s: it is not what verify --json prints: %w", file, err)
	}
	return report.Heads, nil
}

func verifyFile(v *audit.Verifier, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(v.Read(f), f.Close())
}

// verifyServer reads the log of the server and also returns the chain ends that the server
// knows. It asks for the ends first, because the log grows.
func verifyServer(ctx context.Context, con *console, v *audit.Verifier, known []audit.Head) ([]audit.Head, error) {
	var list audit.HeadList
	if err := con.client().Get(ctx, "/v1/audit/heads", nil, &list); err != nil {
		return nil, err
	}
	body, header, err := con.client().Send(ctx, http.MethodGet, "/v1/audit:export", nil, "", nil)
	if err != nil {
		return nil, err
	}
	v.Partial = v.Partial || header.Get(audit.WholeHeader) == "false"
	v.Known = list.Heads
	return append(known, list.Heads...), errors.Join(v.Read(body), body.Close())
}

// showReport prints the result of a verification. It returns an error if there are faults.
func showReport(con *console, r audit.Report) error {
	err := con.Show(r, func() {
		for n, f := range r.Faults {
			if n == shownErrors {
				con.Printf("and %d more\n", len(r.Faults)-n)
				break
			}
			con.Printf("%s\n", program.OneLine(faultText(f)))
		}
		con.Printf("%d records in %d chains, %d faults\n", r.Records, len(r.Heads), len(r.Faults))
	})
	if err == nil && len(r.Faults) > 0 {
		err = fmt.Errorf("the audit log is not as it was written: %d faults, first %s", len(r.Faults), faultText(r.Faults[0]))
	}
	return err
}

// faultText is a fault in one line.
func faultText(f audit.Fault) string {
	var at []string
	if f.Line > 0 {
		at = append(at, fmt.Sprintf("line %d", f.Line))
	}
	if f.Chain != "" {
		at = append(at, fmt.Sprintf("record %d of chain %s", f.Sequence, f.Chain))
	}
	return strings.Join(append(at, f.Reason), ": ")
}
