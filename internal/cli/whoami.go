package cli

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/access/httpserver"
)

func newWhoami(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "whoami",
		Short: "Show whom the server takes this command for",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s httpserver.Session
			if err := con.client().Get(cmd.Context(), "/v1/session", nil, &s); err != nil {
				return err
			}
			if s.Caller == nil {
				return errors.New("the server asks for a credential, and does not know the credential of this command: give one with --token, or log in with `toolstream login`")
			}
			return con.Show(s, func() {
				who := s.Caller
				con.PrintName(strings.Trim(who.Tenant+"/"+who.Subject, "/"))
				sees := ""
				if who.Operator {
					sees = "what all tenants share, too"
				}
				con.PrintPairs("tenant", who.Tenant, "name", cmp.Or(who.Subject, "none"), "role", cmp.Or(string(who.Role), "none"), "groups", strings.Join(who.Groups, ", "), "sees", sees)
				if s.Open {
					con.Notef("the server asks for no credential: every caller is this one\n")
				}
			})
		},
	}
}
