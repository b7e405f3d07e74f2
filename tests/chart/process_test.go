//go:build unix

package chart

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolstream/toolstream/internal/testing/check"
	"github.com/toolstream/toolstream/internal/testing/process"
	"github.com/toolstream/toolstream/pkg/client"
)

// TestTheDefaultServesAndFindsATool runs what the chart makes without any values, and
// against it, one after the other, what the containers of `helm test` run: no container
// runs on the control plane.
func TestTheDefaultServesAndFindsATool(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may change the root of a process")
	}
	all := objects(t, must(t, template(helm(t))...))
	bin := filepath.Join(t.TempDir(), "toolstream")
	check.OK(t, process.Compile(process.Toolstream, bin, "-tags=noonnx")) // as the image holds it
	server := startPod(t, all, bin)
	for _, c := range containers(all) {
		probes(t, server, c)
	}
	anonymous := client.Client{Server: server, HTTP: http.DefaultClient}
	if err := anonymous.Get(t.Context(), "/v1/tools", nil, nil); err == nil {
		t.Error("whoever comes without a token is let in")
	}
	tools := t.TempDir()
	for _, m := range of(all, "ConfigMap") {
		if text, ok := m.at("data")["tool.json"].(string); ok {
			write(t, filepath.Join(tools, "tool.json"), text, 0o600)
		}
	}
	pod := of(all, "Pod")[0].at("spec")
	for _, step := range append(pod["initContainers"].([]any), pod["containers"].([]any)...) {
		c := object(step.(map[string]any))
		cmd := exec.CommandContext(t.Context(), bin)
		for _, arg := range c["args"].([]any) {
			cmd.Args = append(cmd.Args, strings.Replace(arg.(string), "/tools/", tools+"/", 1))
		}
		for name, value := range variables(t, all, c) {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.Env = append(cmd.Env, "TOOLSTREAM_SERVER="+server) // in place of the Service
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args[1:], " "), err, out)
		}
	}
}

// startPod runs the one container of the release as a process, with its user, arguments,
// environment and volumes, in a root of its own in which it can write into volumes alone. It
// returns the address, once it is ready, which is a free port of loopback.
func startPod(t *testing.T, all []object, bin string) string {
	t.Helper()
	spec := of(all, "StatefulSet")[0].at("spec", "template", "spec")
	c := containers(all)[0]
	if c.at("securityContext")["readOnlyRootFilesystem"] != true || c["command"] != nil {
		t.Fatalf("its root can be written, or it is not the program of the image that runs: %v", c)
	}
	uid, gid := uint32(spec.at("securityContext")["runAsUser"].(int)), uint32(spec.at("securityContext")["fsGroup"].(int))
	root := mounted(t, all, spec, int(gid))
	copyFile(t, bin, filepath.Join(root, "toolstream"))

	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, "/toolstream")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	for _, arg := range c["args"].([]any) {
		cmd.Args = append(cmd.Args, arg.(string))
	}
	for name, value := range variables(t, all, c) {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, "TOOLSTREAM_LISTEN=127.0.0.1:0")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	check.OK(t, err)
	address, ended := make(chan string, 1), make(chan error, 1)
	var said strings.Builder // read once the process has ended
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			said.WriteString(lines.Text() + "\n")
			var line struct{ Msg, URL string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "toolstream listens" {
				address <- line.URL
			}
		}
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := <-ended; err != nil {
			t.Errorf("it did not end in order: %v\n%s", err, said.String())
		}
	})
	select {
	case server := <-address:
		ready(t, server)
		return server
	case err := <-ended:
		ended <- err
		t.Fatalf("it ended at its start: %v\n%s", err, said.String())
	}
	return ""
}

// mounted makes a root with the volumes of the pod, as its group gets them.
func mounted(t *testing.T, all []object, spec object, gid int) string {
	t.Helper()
	root := t.TempDir()
	for dir := root; len(dir) > len(os.TempDir()); dir = filepath.Dir(dir) {
		check.OK(t, os.Chmod(dir, 0o755)) // other users pass
	}
	secrets := map[string]object{}
	for _, v := range spec["volumes"].([]any) {
		if v := object(v.(map[string]any)); v["secret"] != nil {
			secrets[v["name"].(string)] = v.at("secret")
		}
	}
	c := containers(all)[0]
	for _, m := range c["volumeMounts"].([]any) {
		mount := object(m.(map[string]any))
		dir := filepath.Join(root, mount["mountPath"].(string))
		check.OK(t, os.MkdirAll(dir, 0o755))
		secret, ok := secrets[mount["name"].(string)]
		if !ok {
			check.OK(t, os.Chown(dir, 0, gid))
			check.OK(t, os.Chmod(dir, 0o775|os.ModeSetgid))
			continue
		}
		for _, i := range secret["items"].([]any) {
			item := object(i.(map[string]any))
			file := filepath.Join(dir, item["path"].(string))
			write(t, file, secretData(t, all, secret["secretName"].(string), item["key"].(string)), os.FileMode(secret["defaultMode"].(int)))
			check.OK(t, os.Chown(file, 0, gid))
		}
	}
	return root
}

// variables are the environment of a container.
func variables(t *testing.T, all []object, c object) map[string]string {
	t.Helper()
	out := map[string]string{}
	from, _ := c["envFrom"].([]any)
	for _, f := range from {
		name := object(f.(map[string]any)).at("configMapRef")["name"]
		for _, m := range of(all, "ConfigMap") {
			if m.name() != name {
				continue
			}
			for key, value := range m.at("data") {
				out[key] = value.(string)
			}
		}
	}
	env, _ := c["env"].([]any)
	for _, e := range env {
		e := object(e.(map[string]any))
		if value, ok := e["value"].(string); ok {
			out[e["name"].(string)] = value
			continue
		}
		ref := e.at("valueFrom", "secretKeyRef")
		out[e["name"].(string)] = secretData(t, all, ref["name"].(string), ref["key"].(string))
	}
	return out
}

func secretData(t *testing.T, all []object, name, key string) string {
	t.Helper()
	for _, s := range of(all, "Secret") {
		text, ok := s.at("data")[key].(string)
		if raw, err := base64.StdEncoding.DecodeString(text); s.name() == name && ok && err == nil {
			return string(raw)
		}
	}
	t.Fatalf("no secret %s has a key %s", name, key)
	return ""
}

// ready waits until the server is, by asking it, which is the only way to learn it.
func ready(t *testing.T, server string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for status(server+"/readyz") != http.StatusOK {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it did not become ready")
		}
	}
}

// probes holds that a ready server answers what Kubernetes asks.
func probes(t *testing.T, server string, c object) {
	t.Helper()
	for _, probe := range []string{"startupProbe", "livenessProbe", "readinessProbe"} {
		path := c.at(probe, "httpGet")["path"].(string)
		if got := status(server + path); got != http.StatusOK {
			t.Errorf("%s: %s of a ready server is %d", probe, path, got)
		}
	}
}

// status is that of an answer, 0 without one.
func status(url string) int {
	res, err := http.Get(url)
	if err != nil {
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text := check.Value(os.ReadFile(from))(t)
	write(t, to, string(text), 0o755)
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	check.OK(t, os.WriteFile(file, []byte(text), mode))
}
