package servers

import (
	"context"
	_ "embed"
	"os"
)

// PromtoolName is the name of the program that checks Prometheus rules.
const PromtoolName = "promtool"

// prometheusVersion is the version of the module that prometheus.mod calls
// v0.313.5. It is the newest version whose dependencies are all on the module proxy.
const prometheusVersion = "3.13.5"

//go:embed prometheus.mod
var prometheusModule []byte

//go:embed prometheus.sum
var prometheusSums []byte

// makePromtool omits service discovery for clouds, which would take most of the
// compile time.
func makePromtool(ctx context.Context, home string) error {
	work, err := layModule(home, prometheusModule, prometheusSums)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	return compile(ctx, work, home, []string{"-tags=remove_all_sd", "-ldflags=-s -w"}, []string{"github.com/prometheus/prometheus/cmd/promtool"})
}
