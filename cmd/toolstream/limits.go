package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/httpserver"
)

func newLimits(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "limits",
		Short: "Show what is used of the tenant's limits",
		Long: `Show what is used now of what the tenant may ask for in a minute, as the process that
answers counts it, with the callers that are nearest to their part, and how many tools and
sources it has of those that it may have.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var all httpserver.LimitsUse
			if err := con.client().Get(cmd.Context(), "/v1/limits", nil, &all); err != nil {
				return err
			}
			return con.show(all, func() { con.printLimits(all.Limits) })
		},
	}
}

func (c *console) printLimits(all []httpserver.LimitUse) {
	t := newTable("LIMIT", "USED", "OF", "IN", "OF ONE CALLER", "CALLERS…")
	for _, l := range all {
		in, ofOne := "all", "any"
		if l.PerSeconds > 0 {
			in = (time.Duration(l.PerSeconds) * time.Second).String()
		} else {
			ofOne = ""
		}
		if l.CallerLimit > 0 {
			ofOne = fmt.Sprint(l.CallerLimit)
		}
		var callers []string
		for _, who := range l.Callers {
			callers = append(callers, fmt.Sprintf("%s %d", cmp.Or(who.Subject, "without a name"), who.Used))
		}
		t.add(l.Name, l.Used, l.Limit, in, ofOne, strings.Join(callers, ", "))
	}
	c.printTable(t)
	if len(all) == 0 {
		c.notef("the tenant has no limits\n")
	}
}
