package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// ErrUnavailable means that a server is not available on this machine: a tool that
// builds it is missing, or a registry lacks one of its parts. Tests then skip.
var ErrUnavailable = errors.New("not to be had on this machine")

// CacheVariable is the environment variable that names the folder of built
// servers. The default is toolstream/servers in the user's cache.
const CacheVariable = "TOOLSTREAM_SERVERS_DIR"

// Provision makes the server or the programs called name if they are not there
// yet, and returns their folder. It takes seconds for Kafka and NATS, and
// minutes for others, which it compiles. An ErrUnavailable error means that this
// machine cannot have them.
func Provision(ctx context.Context, name string) (string, error) {
	r, err := recipeOf(name)
	if err != nil {
		return "", err
	}
	home, err := provide(ctx, r)
	if err != nil {
		return "", fmt.Errorf("provision %s %s: %w", r.name, r.version, err)
	}
	return home, nil
}

// Provisioned reports whether the server called name is completely built.
func Provisioned(name string) bool {
	r, err := recipeOf(name)
	if err != nil {
		return false
	}
	root, err := cache()
	return err == nil && exists(home(root, r))
}

func cache() (string, error) {
	if dir := os.Getenv(CacheVariable); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "toolstream", "servers"), err
}

func home(root string, r recipe) string { return filepath.Join(root, r.name+"-"+r.version) }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// provide returns the folder of a built server. One process at a time builds it,
// under another name, and renames it when complete.
func provide(ctx context.Context, r recipe) (string, error) {
	root, err := cache()
	if err != nil {
		return "", err
	}
	made := home(root, r)
	if exists(made) {
		return made, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	release, err := lock(ctx, filepath.Join(root, r.name+".lock"))
	if err != nil {
		return "", err
	}
	defer release()
	if exists(made) {
		return made, nil
	}
	return made, makeIn(ctx, r, root, made)
}

func makeIn(ctx context.Context, r recipe, root, made string) error {
	part := filepath.Join(root, r.name+".part")
	if err := os.RemoveAll(part); err != nil { // of a process that was killed
		return err
	}
	if err := os.Mkdir(part, 0o755); err != nil {
		return err
	}
	err := r.make(ctx, part)
	if err == nil {
		err = os.Rename(part, made)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return nil
}

// installed makes the program of a Go module's main package, from the configured module
// proxy and verified by its checksum database.
func installed(pkg, version string) func(ctx context.Context, home string) error {
	return func(ctx context.Context, home string) error {
		tool, err := tool("go")
		if err != nil {
			return err
		}
		env := []string{"CGO_ENABLED=0", "GOBIN=" + home, "GOWORK=off"}
		err = runTool(ctx, home, env, gently(tool, "install", "-p", "2", "-trimpath", "-ldflags=-s -w", pkg+"@v"+version)...)
		return unavailable(ctx, err)
	}
}

// layModule makes a folder in home with a module that requires others. It allows
// installing from modules that replace parts of themselves.
func layModule(home string, module, sums []byte) (string, error) {
	work, err := os.MkdirTemp(home, "module-")
	for name, text := range map[string][]byte{"go.mod": module, "go.sum": sums} {
		if err == nil {
			err = os.WriteFile(filepath.Join(work, name), text, 0o644)
		}
	}
	return work, err
}

// compile builds the programs of a module's folder into home.
func compile(ctx context.Context, work, home string, flags, programs []string) error {
	tool, err := tool("go")
	if err != nil {
		return err
	}
	env := []string{"CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly"}
	argv := slices.Concat([]string{tool, "build", "-p", "2", "-trimpath", "-o", home + string(filepath.Separator)}, flags, programs)
	return unavailable(ctx, runTool(ctx, work, env, gently(argv...)...))
}

func tool(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: %s is not installed", ErrUnavailable, name)
	}
	return path, nil
}

// gently returns the command at the lowest priority if nice is installed.
func gently(argv ...string) []string {
	nice, err := exec.LookPath("nice")
	if err != nil {
		return argv
	}
	return append([]string{nice, "-n", "19"}, argv...)
}

// unavailable marks the error of a failed tool as ErrUnavailable, unless the caller
// gave up.
func unavailable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// end returns the last lines of a tool's output.
func end(out []byte) string {
	const most = 2048
	if more := len(out) - most; more > 0 {
		out = out[more:]
	}
	return strings.TrimSpace(string(out))
}

// poll calls ask ten times a second until it returns true or fails, or ctx ends.
func poll(ctx context.Context, ask func() (bool, error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
