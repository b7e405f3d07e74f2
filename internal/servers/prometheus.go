package servers

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// PrometheusName is that of the server that collects metrics, which is made with
// promtool.
const PrometheusName = "prometheus"

// prometheusVersion is that of the module in prometheus.mod, where it is called
// v0.313.5, and the newest whose dependencies the module proxy serves all.
const prometheusVersion = "3.13.5"

//go:embed prometheus.mod
var prometheusModule []byte

//go:embed prometheus.sum
var prometheusSums []byte

func prometheusRecipe() recipe {
	return recipe{name: PrometheusName, version: prometheusVersion, make: makePrometheus, lay: layPrometheus}
}

// makePrometheus builds the server, without its pages, and promtool. What finds
// targets in clouds is left out: it is most of what there would be to compile.
func makePrometheus(ctx context.Context, home string) error {
	work, err := layModule(home, prometheusModule, prometheusSums)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	const programs = "github.com/prometheus/prometheus/cmd/"
	return compile(ctx, work, home, []string{"-tags=remove_all_sd", "-ldflags=-s -w"}, []string{programs + "prometheus", programs + "promtool"})
}

// Promtool returns the path of the program that checks rules; it is made with the
// server if it is not there. See Kafka for errors.
func Promtool(ctx context.Context) (string, error) {
	home, err := provide(ctx, prometheusRecipe())
	if err != nil {
		return "", fmt.Errorf("provision %s %s: %w", PrometheusName, prometheusVersion, err)
	}
	return filepath.Join(home, "promtool"), nil
}

// Where a Prometheus looks, in its folder, for files of targets in the form of
// file_sd_configs, and for rules, which it takes with POST /-/reload.
const (
	PrometheusTargets = "targets.json"
	PrometheusRules   = "rules.yaml"
)

// layPrometheus lets it look every second, so that a test need not wait for what
// takes minutes elsewhere.
func layPrometheus(_ context.Context, home, dir string) (plan, error) {
	port, err := ports(dir, 1)
	if err != nil {
		return plan{}, err
	}
	settings := fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
  - job_name: toolstream
    file_sd_configs: [{files: [%q], refresh_interval: 1s}]
`, filepath.Join(dir, PrometheusRules), filepath.Join(dir, PrometheusTargets))
	config, addr := filepath.Join(dir, "prometheus.yaml"), loopback(port[0])
	return plan{
		addr: addr,
		argv: []string{
			filepath.Join(home, "prometheus"), "--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"),
			"--web.listen-address=" + addr, "--web.enable-lifecycle", "--log.level=warn",
		},
		ready: func(ctx context.Context) error { return answers(ctx, "http://"+addr+"/-/ready") },
	}, os.WriteFile(config, []byte(settings), 0o600)
}
