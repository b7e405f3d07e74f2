package cli

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/changes/tenants"
	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/pkg/client"
)

func newTenants(con *console) *cobra.Command {
	return program.Group(&cobra.Command{Use: "tenants", Short: "List, export and erase tenants"},
		newTenantsList(con), newTenantsExport(con), newTenantsErase(con))
}

func newTenantsList(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List tenants", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list struct {
				Tenants []tenants.Tenant `json:"tenants"`
			}
			if err := con.client().Get(cmd.Context(), tenants.Path, nil, &list); err != nil {
				return err
			}
			return con.Show(list, func() {
				t := program.NewTable("TENANT", "STATE", "TOOLS", "VALUES", "ERASED")
				for _, one := range list.Tenants {
					erased := ""
					if one.Erased != nil {
						erased = one.Erased.Local().Format(time.DateTime)
					}
					t.Add(one.Name, one.State, one.Tools, one.Values, erased)
				}
				con.PrintTable(t)
			})
		},
	}
}

func newTenantsExport(con *console) *cobra.Command {
	return &cobra.Command{
		Use: "export TENANT", Short: "Write everything that is kept of a tenant", Args: cobra.ExactArgs(1),
		Long: `Write everything that is kept of a tenant to standard output, as lines of JSON: its documents,
sources without secrets, grants, weights and usage, dead letters, searches and feedback.
toolstream import takes the documents of it, and passes over the rest.`,
		Example: "  toolstream tenants export acme | gzip > acme.jsonl.gz\n  toolstream import acme.jsonl.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			body, _, err := con.client().Send(cmd.Context(), http.MethodGet, client.Path(tenants.Path, args[0])+"/export", nil, "", nil)
			if err != nil {
				return err
			}
			defer body.Close()
			if _, err := io.Copy(con.Out, body); err != nil {
				return fmt.Errorf("export %s: it is not whole: %w", args[0], err)
			}
			return nil
		},
	}
}

func newTenantsErase(con *console) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "erase TENANT", Short: "Erase a tenant, everywhere and at once", Args: cobra.ExactArgs(1),
		Long: `Erase a tenant, everywhere and at once: tools, sources, grants, weights, usage, dead letters,
searches and feedback. This cannot be undone. Type its name, or give --yes.`,
		Example: "  toolstream tenants export acme > acme.jsonl && toolstream tenants erase acme",
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				con.Notef("Type the name of the tenant to erase everything of it: ")
				typed, _ := bufio.NewReader(con.In).ReadString('\n')
				if strings.TrimSpace(typed) != args[0] {
					return program.Misused(cmd, "that is not %s: nothing was erased", args[0])
				}
			}
			path := client.Path(tenants.Path, args[0]) + "?" + url.Values{"confirm": args[:1]}.Encode()
			var erased tenants.Erased
			if err := con.client().Delete(cmd.Context(), path, &erased); err != nil {
				return err
			}
			return con.Show(erased, func() {
				con.PrintName(erased.Tenant)
				con.Notef("erased\n")
				for _, bucket := range slices.Sorted(maps.Keys(erased.Values)) {
					con.Notef("%d values of %s\n", erased.Values[bucket], bucket)
				}
				for _, what := range erased.Remains {
					con.Notef("remains: %s\n", what)
				}
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for the name")
	return cmd
}
