package chart

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/servers"
	"github.com/toolstream/toolstream/internal/testing/servers/servertest"
)

// TestOnAControlPlane installs every example on a real API server, with the real
// controllers and scheduler, in namespaces that let nothing in but what is as
// restricted as it gets.
func TestOnAControlPlane(t *testing.T) {
	c := &cluster{Cluster: servertest.Cluster(t)}
	c.prepare(t)
	c.refuses(t)
	before := earlier(t)
	for name, values := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.lives(t, "tools-"+name, before, values)
		})
	}
}

// account is the one of the namespace of dry runs.
const account = "dry"

type cluster struct {
	*servers.Cluster
	kinds map[string]resource // by apiVersion and kind
}

// resource is a kind of objects as the API knows it.
type resource struct {
	path, name string
	namespaced bool
	verbs      []string
}

// prepare makes nodes in two zones, storage, and what other projects add to the
// API.
func (c *cluster) prepare(t *testing.T) {
	t.Helper()
	c.apply(t, "/apis/storage.k8s.io/v1/storageclasses", "kwok-volume", `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: kwok-volume, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: kwok.x-k8s.io/volume
`)
	for n := range 4 {
		c.apply(t, "/api/v1/nodes", fmt.Sprint("node-", n), fmt.Sprintf(`
apiVersion: v1
kind: Node
metadata:
  name: node-%d
  labels: {kubernetes.io/hostname: node-%d, topology.kubernetes.io/zone: zone-%d}
`, n, n, n%2))
	}
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	files, err := filepath.Glob(c.File("crds/*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no definitions: %v", err)
	}
	var kinds []string
	for _, file := range files {
		text := check.Value(os.ReadFile(file))(t)
		for _, o := range objects(t, string(text)) {
			c.apply(t, definitions, o.name(), asYAML(t, o))
			kinds = append(kinds, o.at("spec", "names")["kind"].(string))
		}
	}
	c.await(t, "the APIs of others", func() (bool, error) {
		if err := c.discover(t.Context()); err != nil {
			return false, err
		}
		for _, kind := range kinds {
			if !slices.ContainsFunc(otherAPIs(), func(api string) bool { return c.kinds[api+" "+kind].name != "" }) {
				return false, fmt.Errorf("there is no %s", kind)
			}
		}
		return true, nil
	})
	c.restricted(t, namespace)
	// A pod is taken only where its account is there.
	c.apply(t, "/api/v1/namespaces/"+namespace+"/serviceaccounts", account, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: "+account+"}}")
}

// lives takes a release from the version of the chart before to this one, back,
// and away.
func (c *cluster) lives(t *testing.T, namespace, earlier, values string) {
	c.accepts(t, values)
	c.restricted(t, namespace)
	before := c.inventory(t, namespace)
	install := func(chart, values string) {
		c.helm(t, namespace, "upgrade", "--install", release, chart, "--values", values, "--wait", "--timeout", "3m")
	}
	theirs := filepath.Join(earlier, "examples", filepath.Base(values))
	if _, err := os.Stat(theirs); err != nil { // what is new begins with this version
		earlier, theirs = folder, values
	}
	install(earlier, theirs)
	first := c.inventory(t, namespace)
	install(folder, values)
	c.spread(t, namespace)
	c.helm(t, namespace, "test", release, "--timeout", "2m")
	c.helm(t, namespace, "rollback", release, "1", "--wait", "--timeout", "3m")
	if got := settled(c.inventory(t, namespace)); !slices.Equal(got, settled(first)) {
		t.Errorf("after the rollback there are %q, before were %q", got, settled(first))
	}
	c.helm(t, namespace, "uninstall", release, "--wait", "--timeout", "3m")
	c.await(t, "nothing to be left", func() (bool, error) {
		left := slices.DeleteFunc(c.inventory(t, namespace), func(what string) bool {
			return slices.Contains(before, what) || kept(what)
		})
		if len(left) > 0 {
			return false, fmt.Errorf("%q are left", left)
		}
		return true, nil
	})
}

// restricted makes a namespace, and waits for what two controllers put into each:
// what one of them puts there later would be taken for something left over.
func (c *cluster) restricted(t *testing.T, namespace string) {
	t.Helper()
	c.apply(t, "/api/v1/namespaces", namespace, fmt.Sprintf(`
apiVersion: v1
kind: Namespace
metadata: {name: %s, labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/warn: restricted}}
`, namespace))
	for _, made := range []string{"serviceaccounts/default", "configmaps/kube-root-ca.crt"} {
		c.await(t, made+" of the namespace", func() (bool, error) {
			_, err := c.Call(t.Context(), http.MethodGet, "/api/v1/namespaces/"+namespace+"/"+made, nil)
			return err == nil, err
		})
	}
}

// kept are the volumes of mode embedded, which hold what was accepted.
func kept(what string) bool {
	return what == "persistentvolumeclaims/data-toolstream-embedded-0"
}

// settled leaves out what has other names after each change.
func settled(inventory []string) []string {
	var out []string
	for _, what := range inventory {
		kind, name, _ := strings.Cut(what, "/")
		switch {
		case slices.Contains([]string{"pods", "replicasets", "controllerrevisions", "endpointslices", "secrets"}, kind):
		case kind == "persistentvolumeclaims" && !kept(what): // of pods
		default:
			out = append(out, kind+"/"+name)
		}
	}
	return out
}

// spread holds that the pods of a service that runs twice are on two nodes. Those
// of the release before end beside them, and do not count.
func (c *cluster) spread(t *testing.T, namespace string) {
	t.Helper()
	nodes := map[string]map[string]bool{}
	running := map[string]int{}
	for _, pod := range c.list(t, "/api/v1/namespaces/"+namespace+"/pods") {
		labels := pod.at("metadata", "labels")
		revision := fmt.Sprint(labels["app.kubernetes.io/component"], labels["pod-template-hash"], labels["controller-revision-hash"])
		if pod.at("metadata")["deletionTimestamp"] != nil {
			continue
		}
		node, _ := pod.at("spec")["nodeName"].(string)
		if nodes[revision] == nil {
			nodes[revision] = map[string]bool{}
		}
		running[revision]++
		nodes[revision][node] = true
	}
	if len(running) == 0 {
		t.Error("no pod runs")
	}
	for revision, n := range running {
		if n > 1 && len(nodes[revision]) < 2 {
			t.Errorf("%d pods of %s are on one node", n, revision)
		}
	}
}

// accepts holds every manifest against the server's own reading of it: a field
// that it does not know is an error.
func (c *cluster) accepts(t *testing.T, values string) {
	t.Helper()
	rendered := render(t, helm(t), values, "--set", "serviceAccount.create=false,serviceAccount.name="+account)
	for _, o := range objects(t, rendered) {
		if err := c.dryRun(t.Context(), asYAML(t, o), o); err != nil {
			t.Errorf("%s %s: %v", o.kind(), o.name(), err)
		}
	}
}

func (c *cluster) dryRun(ctx context.Context, text string, o object) error {
	r, ok := c.kinds[fmt.Sprint(o["apiVersion"], " ", o.kind())]
	if !ok {
		return fmt.Errorf("the server knows no %s of %s", o.kind(), o["apiVersion"])
	}
	_, err := c.Call(ctx, http.MethodPost, r.at(namespace)+"?dryRun=All&fieldValidation=Strict", []byte(text))
	return err
}

// refuses holds that the check of accepts can fail.
func (c *cluster) refuses(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: misspelt}\ndatta: {}\n"
	o := objects(t, text)[0]
	if err := c.dryRun(t.Context(), text, o); err == nil || !strings.Contains(err.Error(), "datta") {
		t.Errorf("a misspelt field is accepted: %v", err)
	}
}

// discover learns what the API has.
func (c *cluster) discover(ctx context.Context) error {
	c.kinds = map[string]resource{}
	versions := []string{"v1"}
	var groups struct {
		Groups []struct {
			Versions []struct{ GroupVersion string }
		}
	}
	if err := c.ask(ctx, "/apis", &groups); err != nil {
		return err
	}
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			versions = append(versions, v.GroupVersion)
		}
	}
	for _, version := range versions {
		root := "/apis/" + version
		if version == "v1" {
			root = "/api/v1"
		}
		var has struct {
			Resources []struct {
				Name, Kind string
				Namespaced bool
				Verbs      []string
			}
		}
		if err := c.ask(ctx, root, &has); err != nil {
			return err
		}
		for _, r := range has.Resources {
			if !strings.Contains(r.Name, "/") {
				c.kinds[version+" "+r.Kind] = resource{root, r.Name, r.Namespaced, r.Verbs}
			}
		}
	}
	return nil
}

func (r resource) at(namespace string) string {
	if !r.namespaced {
		return r.path + "/" + r.name
	}
	return r.path + "/namespaces/" + namespace + "/" + r.name
}

// inventory lists what is in a namespace, events apart.
func (c *cluster) inventory(t *testing.T, namespace string) []string {
	t.Helper()
	var out []string
	for _, r := range c.kinds {
		if !r.namespaced || !slices.Contains(r.verbs, "list") || r.name == "events" {
			continue
		}
		for _, o := range c.list(t, r.at(namespace)) {
			out = append(out, r.name+"/"+o.name())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *cluster) list(t *testing.T, path string) []object {
	t.Helper()
	var has struct{ Items []object }
	check.OK(t, c.ask(t.Context(), path, &has))
	return has.Items
}

func (c *cluster) ask(ctx context.Context, path string, into any) error {
	answer, err := c.Call(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

// apply makes an object, by the server.
func (c *cluster) apply(t *testing.T, path, name, text string) {
	t.Helper()
	check.Value(c.Call(t.Context(), http.MethodPatch, path+"/"+name+"?fieldManager=test&force=true", []byte(text)))(t)
}

func (c *cluster) helm(t *testing.T, namespace string, args ...string) {
	t.Helper()
	began := time.Now()
	argv := append([]string{helm(t), "--kubeconfig", c.Kubeconfig, "--namespace", namespace}, args...)
	_, all, err := run(t, nil, argv...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s\n%s", strings.Join(args, " "), err, all, c.troubles(t, namespace))
	}
	t.Logf("helm %s: %v", args[0], time.Since(began).Round(time.Millisecond))
}

// troubles are the warnings of a namespace.
func (c *cluster) troubles(t *testing.T, namespace string) string {
	var out strings.Builder
	for _, e := range c.list(t, "/api/v1/namespaces/"+namespace+"/events") {
		if e["type"] == "Warning" {
			fmt.Fprintln(&out, e.at("involvedObject")["name"], e["message"])
		}
	}
	return out.String()
}

// await asks until it is so; the last error says what it was that was not.
func (c *cluster) await(t *testing.T, what string, so func() (bool, error)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		done, err := so()
		if done && err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, err)
		case <-tick.C:
		}
	}
}

func asYAML(t *testing.T, o object) string {
	t.Helper()
	text := check.Value(yaml.Marshal(map[string]any(o)))(t)
	return string(text)
}
