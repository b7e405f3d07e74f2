package servers

import (
	"context"
	_ "embed"
	"os"
)

// PromtoolName is that of the program that checks rules for Prometheus.
const PromtoolName = "promtool"

// prometheusVersion is that of the module in prometheus.mod, where it is called
// v0.313.5, and the newest whose dependencies the module proxy serves all.
const prometheusVersion = "3.13.5"

//go:embed prometheus.mod
var prometheusModule []byte

//go:embed prometheus.sum
var prometheusSums []byte

// promtoolRecipe leaves out what finds targets in clouds: it is most of what there
// would be to compile.
func promtoolRecipe() recipe {
	return recipe{name: PromtoolName, version: prometheusVersion, make: func(ctx context.Context, home string) error {
		work, err := layModule(home, prometheusModule, prometheusSums)
		if err != nil {
			return err
		}
		defer os.RemoveAll(work)
		return compile(ctx, work, home, []string{"-tags=remove_all_sd", "-ldflags=-s -w"}, []string{"github.com/prometheus/prometheus/cmd/promtool"})
	}}
}
