package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolstream/toolstream/internal/testing/process"
	querycatalogue "github.com/toolstream/toolstream/services/query/catalogue"
)

// What was accepted of a tool is there from its first document on, through a delete, kill -9
// and a restart, and the command line says what differs. Every replica shows and finds the
// last document.
func TestDeploymentKeepsRevisions(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, d process.Deployment) {
		kept := func(ops string) (list struct{ Revisions []querycatalogue.Revision }) {
			t.Helper()
			var got string
			err := until(t, func() (bool, error) {
				got = ""
				if o := at(t, d.Front(), "tools", "revisions", "boats/ferry", "--json"); o.code == 0 {
					o.decode(t, &list)
				}
				for _, r := range list.Revisions {
					got += r.Op + " "
				}
				return got == ops && list.Revisions[0].Current, nil
			})
			if err != nil {
				t.Fatalf("kept are %q, want %q: %v", got, ops, err)
			}
			return list
		}
		if o := at(t, d.Front(), "tools", "revisions", "boats/ferry"); o.code != 1 || !strings.Contains(o.errOut, "404") {
			t.Errorf("of what is not there: %+v", o)
		}
		put(t, d.Front(), "boats/ferry", `{"name": "ferry", "description": "Books a ferry."}`)
		kept("put ")
		put(t, d.Front(), "boats/ferry", `{"name": "ferry", "description": "Books a ferry across the lake."}`)
		kept("put put ")
		d.Crash(t)
		if o := at(t, d.Front(), "tools", "delete", "boats/ferry"); o.code != 0 {
			t.Fatalf("%+v", o)
		}
		kept("delete put put ")
		shows(t, d, "boats/ferry", "")
		put(t, d.Front(), "boats/ferry", `{"name": "ferry", "description": "Sells tickets."}`)
		list := kept("put delete put put ")
		shows(t, d, "boats/ferry", "ferry")
		for _, p := range d.Fronts() {
			if got := found(t, p, "tickets", 1); len(got) != 1 {
				t.Errorf("added again, found %q", got)
			}
		}
		if o := at(t, d.Front(), "tools", "diff", "boats/ferry"); !strings.Contains(o.out, "- \"Books a ferry across the lake.\"\n+ \"Sells tickets.\"") {
			t.Errorf("diff: %+v", o)
		}
		var detail querycatalogue.RevisionDetail
		at(t, d.Front(), "tools", "diff", "boats/ferry", fmt.Sprint(list.Revisions[0].Revision), fmt.Sprint(list.Revisions[3].Revision), "--json").decode(t, &detail)
		if len(detail.Differences) != 1 || string(detail.Differences[0].Before) != `"Books a ferry."` || detail.Document.Description != "Sells tickets." {
			t.Errorf("%+v", detail)
		}
	})
}
