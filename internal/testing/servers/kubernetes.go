package servers

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Names for tests of the Helm chart: the programs around helm, and a control
// plane. All are compiled from one module.
const (
	HelmName       = "helm"
	KubernetesName = "kubernetes"
)

// kubernetesVersion is the version that kubernetes.mod pins; a test compares
// them.
const kubernetesVersion = "1.36.3"

//go:embed kubernetes.mod
var kubernetesModule []byte

//go:embed kubernetes.sum
var kubernetesSums []byte

// moduleFiles are files of a module that are copied unchanged.
type moduleFiles struct {
	module, version, sum string   // the sum is empty if kubernetes.sum has it
	to                   string   // a folder in the home
	from                 []string // patterns in the module
}

func moduleParts() []moduleFiles {
	const stages, operator, keda = "kustomize/stage/", "example/prometheus-operator-crd/monitoring.coreos.com_", "config/crd/bases/keda.sh_"
	return []moduleFiles{
		{module: "sigs.k8s.io/kwok", to: "stages", from: []string{
			stages + "pod/fast/pod-*.yaml", stages + "node/fast/node-*.yaml", stages + "volume/fast/pv*.yaml",
		}},
		{
			module: "github.com/prometheus-operator/prometheus-operator", version: "v0.85.0",
			sum:  "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
			from: []string{operator + "servicemonitors.yaml", operator + "prometheusrules.yaml"}, to: "crds",
		},
		{
			module: "github.com/kedacore/keda/v2", version: "v2.21.0",
			sum:  "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=",
			from: []string{keda + "scaledobjects.yaml", keda + "triggerauthentications.yaml"}, to: "crds",
		},
		{
			module: "sigs.k8s.io/gateway-api", version: "v1.4.0",
			sum:  "h1:ZwlNM6zOHq0h3WUX2gfByPs2yAEsy/EenYJB78jpQfQ=",
			from: []string{"config/crd/standard/gateway.networking.k8s.io_httproutes.yaml"}, to: "crds",
		},
	}
}

// makeKubernetes builds the servers. It adds the resource definitions of other projects and
// the stages of kwok's pods.
func makeKubernetes(ctx context.Context, home string) error {
	const commands = "k8s.io/kubernetes/cmd/"
	err := makePrograms(ctx, home, moduleParts(), "go.etcd.io/etcd/server/v3", "sigs.k8s.io/kwok/cmd/kwok",
		commands+"kube-apiserver", commands+"kube-controller-manager", commands+"kube-scheduler")
	if err != nil {
		return err
	}
	// Its name is the last element of its module without the version.
	return os.Rename(filepath.Join(home, "server"), filepath.Join(home, "etcd"))
}

// makePrograms builds main packages into home and adds files. It builds them from a
// module that requires theirs: Kubernetes' own module cannot be installed, since it
// replaces its parts by folders.
func makePrograms(ctx context.Context, home string, files []moduleFiles, packages ...string) error {
	work, err := layModule(home, kubernetesModule, kubernetesSums)
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	// Charts ask Kubernetes for its version.
	const version = " -X k8s.io/component-base/version."
	part := strings.Split(kubernetesVersion, ".")
	flags := "-ldflags=-s -w" + version + "gitVersion=v" + kubernetesVersion + version + "gitMajor=" + part[0] + version + "gitMinor=" + part[1]
	if err := compile(ctx, work, home, []string{flags}, packages); err != nil {
		return err
	}
	for _, f := range files {
		if err := f.take(ctx, work, home); err != nil {
			return unavailable(ctx, err)
		}
	}
	return nil
}

// take copies the files to home.
func (f moduleFiles) take(ctx context.Context, work, home string) error {
	dir, err := f.dir(ctx, work)
	if err != nil {
		return err
	}
	var names []string
	for _, pattern := range f.from {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil || len(found) == 0 {
			return fmt.Errorf("%s holds no %s (%v)", f.module, pattern, err)
		}
		names = append(names, found...)
	}
	if err := os.MkdirAll(filepath.Join(home, f.to), 0o755); err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(home, f.to, filepath.Base(name)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// dir returns the folder of the fetched and verified module.
func (f moduleFiles) dir(ctx context.Context, work string) (string, error) {
	module := f.module
	if f.version != "" {
		module += "@" + f.version
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir, cmd.Env = work, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("fetch %s: %w: %s%s", module, err, end(out), end(errs.Bytes()))
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &got); err != nil {
		return "", fmt.Errorf("fetch %s: %w", module, err)
	}
	if f.sum != "" && got.Sum != f.sum {
		return "", fmt.Errorf("%s has sum %s instead of %s", module, got.Sum, f.sum)
	}
	if f.sum == "" && !strings.Contains(string(kubernetesSums), got.Sum) {
		return "", fmt.Errorf("%s has sum %s, which kubernetes.sum does not know", module, got.Sum)
	}
	return got.Dir, nil
}
