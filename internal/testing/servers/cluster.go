package servers

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cluster is a control plane of Kubernetes on loopback: the real etcd, API
// server, controllers and scheduler, with nodes that kwok makes up. Pods on them
// are ready at once and no container runs. It dies with this process.
type Cluster struct {
	Version    string // of Kubernetes
	Kubeconfig string // path of the administrator's
	Dir        string // settings, data and logs of all of them

	home, addr, token string
	client            *http.Client
	servers           []*Server // in the order of starting
	release           func() error
}

// StartCluster starts a control plane on an empty temporary folder, which Stop
// removes. It has no nodes.
func StartCluster(ctx context.Context) (*Cluster, error) {
	home, err := Provision(ctx, KubernetesName)
	if err != nil {
		return nil, err
	}
	at, err := temporary(ctx, KubernetesName)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Version: kubernetesVersion, Dir: at.path, home: home, release: at.release, token: rand.Text()}
	// The server's certificate is its own, made at its start.
	c.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s %s: %w", KubernetesName, kubernetesVersion, err), c.Stop(ctx))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	p, err := ports(c.Dir, 6)
	if err != nil {
		return err
	}
	c.addr = loopback(p[2])
	c.Kubeconfig = c.path("kubeconfig")
	key := c.path("service-accounts.key")
	if err := c.write(key); err != nil {
		return err
	}
	etcd, peer := "http://"+loopback(p[0]), "http://"+loopback(p[1])
	files, _ := filepath.Glob(filepath.Join(c.home, "stages", "*.yaml")) // the pattern is well formed
	files = append(files, c.path("stages.yaml"))
	for i, file := range files {
		files[i] = "--config=" + file
	}
	for _, s := range []struct {
		name, ready string
		args        []string
	}{
		{"etcd", etcd + "/health", []string{
			"--data-dir=" + c.path("etcd", "data"), "--listen-client-urls=" + etcd, "--advertise-client-urls=" + etcd,
			"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
			"--unsafe-no-fsync",
		}},
		{"kube-apiserver", "https://" + c.addr + "/readyz", []string{
			"--etcd-servers=" + etcd, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprint("--secure-port=", p[2]), "--cert-dir=" + c.path("kube-apiserver", "certs"),
			"--token-auth-file=" + c.path("tokens.csv"), "--authorization-mode=RBAC",
			"--service-account-issuer=https://" + c.addr, "--service-account-key-file=" + key, "--service-account-signing-key-file=" + key,
			"--service-cluster-ip-range=10.0.0.0/16",
			"--endpoint-reconciler-type=none", // a Service cannot have a loopback address
		}},
		{"kube-controller-manager", "https://" + loopback(p[3]) + "/healthz", append(c.member(p[3]),
			"--service-account-private-key-file="+key,
			"--node-monitor-grace-period=24h", // a node may be silent for a while on a busy machine
		)},
		{"kube-scheduler", "https://" + loopback(p[4]) + "/healthz", c.member(p[4])},
		{"kwok", "http://" + loopback(p[5]) + "/healthz", append([]string{
			"--kubeconfig=" + c.Kubeconfig, "--manage-all-nodes=true", "--server-address=" + loopback(p[5]),
		}, files...)},
	} {
		if err := c.launch(ctx, s.name, s.ready, s.args); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// member returns the arguments that the scheduler and the controller manager share.
func (c *Cluster) member(port int) []string {
	return []string{"--kubeconfig=" + c.Kubeconfig, "--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprint("--secure-port=", port)}
}

// ends has the stages of the pods of Helm's tests after they are ready.
const ends = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-ends
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
      - {key: .status.phase, operator: In, values: [Running]}
      - {key: .spec.restartPolicy, operator: In, values: [Never]}
  next:
    statusTemplate: "phase: Succeeded"
`

// write writes the files that the servers are started with.
func (c *Cluster) write(key string) error {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return err
	}
	kubeconfig := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "https://%s", "insecure-skip-tls-verify": true}}],
"users": [{"name": "c", "user": {"token": %q}}],
"contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}`, c.addr, c.token)
	for path, text := range map[string]string{
		key:                   string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})),
		c.Kubeconfig:          kubeconfig,
		c.path("tokens.csv"):  c.token + `,admin,admin,"system:masters"` + "\n",
		c.path("stages.yaml"): ends,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) launch(ctx context.Context, name, ready string, args []string) error {
	dir := c.path(name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	s := &Server{Name: name, Version: c.Version, Dir: dir, release: func() error { return nil }}
	s.plan = plan{
		argv: append([]string{filepath.Join(c.home, name)}, args...),
		// The other half of a heap is memory that many of them would not use.
		env: []string{"GOGC=50"},
		ready: func(ctx context.Context) error {
			status, answer, err := c.send(ctx, http.MethodGet, ready, nil)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("%s: %d %s", ready, status, end(answer))
			}
			return err
		},
	}
	if err := s.launch(ctx); err != nil {
		return err
	}
	c.servers = append(c.servers, s)
	return nil
}

func (c *Cluster) path(names ...string) string {
	return filepath.Join(append([]string{c.Dir}, names...)...)
}

// Call sends a request to the API server as its administrator: a path with its
// query, and a body in YAML or JSON. It repeats a request that the server is
// too busy for. An answer other than 2xx is an error with the text of the answer.
func (c *Cluster) Call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	var status int
	var answer []byte
	err := poll(ctx, func() (_ bool, err error) {
		status, answer, err = c.send(ctx, method, "https://"+c.addr+path, body)
		return status != http.StatusTooManyRequests, err
	})
	if err == nil && status/100 != 2 {
		err = fmt.Errorf("%d: %s", status, strings.TrimSpace(string(answer)))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer, nil
}

func (c *Cluster) send(ctx context.Context, method, url string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Content-Type", "application/yaml")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/apply-patch+yaml")
	}
	res, err := c.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// APIServer returns the API server of the control plane, which a test may kill and restart.
func (c *Cluster) APIServer() *Server {
	return c.servers[slices.IndexFunc(c.servers, func(s *Server) bool { return s.Name == "kube-apiserver" })]
}

// File returns the path of a file that was built with Kubernetes, below crds or
// stages.
func (c *Cluster) File(path string) string { return filepath.Join(c.home, filepath.FromSlash(path)) }

// Log returns the last lines of each server's log, with long lines cut: the logs of
// five servers would otherwise bury the message of the test.
func (c *Cluster) Log() string {
	const most, width = 6, 300
	var out strings.Builder
	for _, s := range c.servers {
		fmt.Fprintln(&out, "==", s.Name)
		lines := strings.Split(s.Log(), "\n")
		for _, line := range lines[max(0, len(lines)-most):] {
			fmt.Fprintf(&out, "%.*s\n", width, line)
		}
	}
	return out.String()
}

// Stop ends the servers in the opposite order of starting and removes the folder.
func (c *Cluster) Stop(ctx context.Context) error {
	var errs []error
	for _, s := range slices.Backward(c.servers) {
		errs = append(errs, s.Stop(ctx))
	}
	c.client.CloseIdleConnections()
	return errors.Join(append(errs, c.release())...)
}
