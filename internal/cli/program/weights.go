package program

import (
	"fmt"
	"maps"
	"slices"

	"github.com/toolstream/toolstream/pkg/schema"
)

// Weights prints a version of the fusion weights.
func Weights(t *Terminal, w schema.Weights) {
	t.Printf("version %s, epoch %d, %s\n", w.Version, w.Epoch, w.Source)
	table := NewTable("FEATURE", "WEIGHT")
	for _, name := range slices.Sorted(maps.Keys(w.Features)) {
		table.Add(name, fmt.Sprintf("%.4f", w.Features[name]))
	}
	table.Add("bias", fmt.Sprintf("%.4f", w.Bias))
	table.Add("tau (a match below counts as missing)", fmt.Sprintf("%.4f", w.Tau))
	table.Add("w_req (missing required parameter)", fmt.Sprintf("%.4f", w.Required))
	table.Add("w_opt (missing optional parameter)", fmt.Sprintf("%.4f", w.Optional))
	t.PrintTable(table)
}
