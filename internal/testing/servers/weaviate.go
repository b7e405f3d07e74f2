package servers

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
)

// weaviateVersion is the newest version whose dependencies are all on the module proxy.
const weaviateVersion = "1.39.3"

func layWeaviate(_ context.Context, home, dir string) (plan, error) {
	p, err := ports(dir, 6)
	if err != nil {
		return plan{}, err
	}
	rest, grpc, gossip, data, raft, rpc := p[0], p[1], p[2], p[3], p[4], p[5]
	addr := loopback(rest)
	return plan{
		addr: addr,
		grpc: loopback(grpc),
		argv: []string{filepath.Join(home, "weaviate-server"), "--scheme", "http", "--host", "127.0.0.1", "--port", strconv.Itoa(rest)},
		env: append(weaviateEnv(),
			"PERSISTENCE_DATA_PATH="+filepath.Join(dir, "data"),
			fmt.Sprint("GRPC_PORT=", grpc),
			fmt.Sprint("CLUSTER_GOSSIP_BIND_PORT=", gossip),
			fmt.Sprint("CLUSTER_DATA_BIND_PORT=", data),
			fmt.Sprint("RAFT_PORT=", raft),
			fmt.Sprint("RAFT_INTERNAL_RPC_PORT=", rpc)),
		ready: func(ctx context.Context) error { return answers(ctx, "http://"+addr+"/v1/.well-known/ready") },
	}, nil
}

// weaviateEnv returns the settings that do not depend on the folder. The node has
// its own name and address, because the machine's may change and are part of
// the stored state. CLUSTER_IN_LOCALHOST does not help: it derives one port
// from another, and the node never finds itself.
func weaviateEnv() []string {
	return []string{
		"CLUSTER_HOSTNAME=node1",
		"CLUSTER_ADVERTISE_ADDR=127.0.0.1",
		"CLUSTER_BIND_ADDR=127.0.0.1",
		"RAFT_BOOTSTRAP_EXPECT=1",
		"AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED=true",
		"AUTOSCHEMA_ENABLED=false",
		"DEFAULT_VECTORIZER_MODULE=none",
		"ENABLE_MODULES=",
		"API_BASED_MODULES_DISABLED=true",
		"DISABLE_TELEMETRY=true",
		"GO_PROFILING_DISABLE=true",
		"PROMETHEUS_MONITORING_ENABLED=false",
		"LOG_LEVEL=info",
		"GOMEMLIMIT=1GiB",
		// Weaviate refuses to write if the disk is nearly full, as it may be on a test
		// machine.
		"DISK_USE_READONLY_PERCENTAGE=99",
	}
}

// answers requests a page once, and fails unless it gets it.
func answers(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("readiness: %s", res.Status)
	}
	return nil
}
