package main

import (
	"cmp"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/httpserver"
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
				return errors.New("the server asks for a credential, and knows nobody by that of this command: give one with --token, or log in with `toolstream login`")
			}
			return con.show(s, func() { con.printCaller(s) })
		},
	}
}

func (c *console) printCaller(s httpserver.Session) {
	who := s.Caller
	c.printName(strings.Trim(who.Tenant+"/"+who.Subject, "/"))
	sees := ""
	if who.Operator {
		sees = "what all tenants share, too"
	}
	c.printPairs("tenant", who.Tenant, "name", cmp.Or(who.Subject, "none"), "role", cmp.Or(string(who.Role), "none"), "groups", strings.Join(who.Groups, ", "), "sees", sees)
	if s.Open {
		c.notef("the server asks for no credential: every caller is this one\n")
	}
}
