package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolstream/toolstream/internal/cli/program"
	"github.com/toolstream/toolstream/internal/server/live"
	"github.com/toolstream/toolstream/internal/server/status"
	"github.com/toolstream/toolstream/pkg/client"
)

// watchAgain is the pause before watch reopens a stream that has ended.
const watchAgain = 2 * time.Second

func watchedEvents() []string {
	return []string{live.EventStatus, live.EventSample, live.EventTools, live.EventDeadLetters, live.EventSources, live.EventWeights}
}

func newWatch(con *console) *cobra.Command {
	return &cobra.Command{
		Use:   "watch [EVENT…]",
		Short: "Show what changes, as it does, until interrupted",
		Long: `Shows how everything is, as far as you may see it, and then what changes:
tools that you may find; for writers also sources; for operators also status,
sample (rates and times of the last seconds), dead_letters and weights.

With -o json there is one event a line.`,
		Example:   "  toolstream watch\n  toolstream watch tools sources -o json",
		ValidArgs: watchedEvents(),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, event := range args {
				if err := program.KnownWord(cmd, "EVENT", event, watchedEvents()...); err != nil {
					return err
				}
			}
			return watchEvents(cmd.Context(), con, args)
		},
	}
}

// watchEvents prints events until ctx ends. It reopens a stream that has ended. It fails if
// there was no event yet, or if the server refuses the request.
func watchEvents(ctx context.Context, con *console, only []string) error {
	for begun := false; ; {
		err := con.client().Watch(ctx, func(e client.Event) error {
			begun = true
			if len(only) > 0 && !slices.Contains(only, e.Name) {
				return nil
			}
			return printEvent(con, e)
		})
		var refused *client.Problem
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && (!begun || errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusTooManyRequests):
			return err
		case err != nil:
			con.Notef("%v; trying again\n", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchAgain):
		}
	}
}

func printEvent(con *console, e client.Event) error {
	if con.Structured() {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		fmt.Fprintln(con.Out, string(line))
		return nil
	}
	says, err := eventText(e)
	if err != nil {
		return fmt.Errorf("the event %s: %w", e.Name, err)
	}
	if says != "" {
		con.Printf("%s  %-12s  %s\n", time.Now().Format(time.TimeOnly), e.Name, program.OneLine(says))
	}
	return nil
}

// eventText describes an event in words. It returns "" for an unknown event of a newer server.
func eventText(e client.Event) (string, error) {
	switch e.Name {
	case live.EventStatus:
		return inWords(e.Data, statusText)
	case live.EventSample:
		return inWords(e.Data, sampleText)
	case live.EventTools:
		return inWords(e.Data, toolsText)
	case live.EventDeadLetters:
		return inWords(e.Data, func(d live.DeadLetters) string {
			says := fmt.Sprintf("%d open", d.Open)
			for _, reason := range slices.Sorted(maps.Keys(d.Reasons)) {
				says += fmt.Sprintf(", %d for %s", d.Reasons[reason], reason)
			}
			return says
		})
	case live.EventSources:
		return inWords(e.Data, sourcesText)
	case live.EventWeights:
		return inWords(e.Data, func(w live.Weights) string { return fmt.Sprintf("%s (epoch %d)", w.Live, w.Epoch) })
	}
	return "", nil
}

// inWords decodes data and describes it in words.
func inWords[T any](data json.RawMessage, words func(T) string) (string, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return "", err
	}
	return words(v), nil
}

func statusText(s status.Status) string {
	state := "ready"
	if !s.Ready {
		state = "not ready: " + s.Reason
	}
	says := []string{state, fmt.Sprintf("%d tools", s.Tools)}
	for _, f := range s.Findings {
		if !f.OK {
			says = append(says, f.What)
		}
	}
	return strings.Join(says, "; ")
}

func sampleText(s status.Sample) string {
	var says []string
	add := func(value *float64, format string) {
		if value != nil {
			says = append(says, fmt.Sprintf(format, *value))
		}
	}
	add(s.Accepted, "%.1f accepted/s")
	add(s.Indexed, "%.1f indexed/s")
	add(s.Searches, "%.1f searches/s")
	add(s.Calls, "%.1f calls/s")
	add(s.SearchHalf, "search p50 %.1f ms")
	add(s.SearchMost, "p99 %.1f ms")
	add(s.FreshMost, "searchable within %.1f s (p99)")
	if s.Lag != nil {
		says = append(says, fmt.Sprintf("lag %d", *s.Lag))
	}
	return strings.Join(append(says, fmt.Sprintf("%d tools", s.Tools)), ", ")
}

func toolsText(t live.Tools) string {
	var names []string
	for _, one := range t.Some {
		name := one.ID
		if one.Deleted {
			name += " (gone)"
		}
		names = append(names, name)
	}
	if more := t.Changed - len(t.Some); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d changed: %s", t.Changed, strings.Join(names, ", "))
}

func sourcesText(s live.Sources) string {
	var says []string
	for _, one := range s.Sources {
		text := fmt.Sprintf("%s is %s", one.Name, one.State)
		if one.LastError != "" {
			text += " (" + one.LastError + ")"
		}
		says = append(says, text+fmt.Sprintf(" with %d tools", one.Tools))
	}
	for _, name := range s.Removed {
		says = append(says, name+" is gone")
	}
	if s.More > 0 {
		says = append(says, fmt.Sprintf("%d more", s.More))
	}
	return cmp.Or(strings.Join(says, ", "), "no sources")
}
