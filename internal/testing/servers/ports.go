package servers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports are below the range that the system gives to connections. Otherwise a
// client that dials a server while it is down could get the server's own port,
// connect to itself and keep the server from coming back.
const (
	lowestPort  = 20000
	highestPort = 29999
)

// ports returns n ports of loopback that belong to the folder dir: free ports the
// first time and the same ports from then on, since stored state names them.
func ports(dir string, n int) ([]int, error) {
	path := filepath.Join(dir, "ports.json")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return choosePorts(path, n)
	}
	var out []int
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err == nil && len(out) != n {
		err = fmt.Errorf("%d ports instead of %d", len(out), n)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return out, nil
}

func choosePorts(path string, n int) ([]int, error) {
	root, err := cache()
	if err != nil {
		return nil, err
	}
	root = filepath.Join(root, "ports")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	var out []int
	for tries := 0; len(out) < n; tries++ {
		if tries == 1000 {
			return nil, fmt.Errorf("no %d free ports between %d and %d", n, lowestPort, highestPort)
		}
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		if own(root, port) && free(port) {
			out = append(out, port)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return out, os.WriteFile(path, text, 0o600)
}

// owned keeps the locks of ports open: the system closes a file that nothing
// refers to.
var owned sync.Map

// own keeps every other process that chooses ports from this one, until this
// process ends. It reports false if another process, or an earlier call, has it.
func own(root string, port int) bool {
	now, cancel := context.WithCancel(context.Background())
	cancel() // do not wait for a held lock
	release, err := lock(now, filepath.Join(root, strconv.Itoa(port)))
	if err == nil {
		owned.Store(port, release)
	}
	return err == nil
}

// free reports whether connections to the port are refused. It does not listen
// itself: a program that starts at this moment would inherit the listener, and
// hold the port after it was closed here.
func free(port int) bool {
	conn, err := net.Dial("tcp", loopback(port))
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
