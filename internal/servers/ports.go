package servers

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// Ports are taken from below those that the system gives to connections: a
// client that dials a server while it is down may otherwise be given its very
// port, connect to itself and keep the server from coming back.
const (
	lowestPort  = 20000
	highestPort = 29999
)

// ports returns n ports of loopback that belong to the folder dir: free ones the
// first time, the same ones from then on, since stored state names them.
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
	out, err := FreePorts(n)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return out, os.WriteFile(path, text, 0o600)
}

// FreePorts returns n ports of loopback at which nobody listens, from below those
// that the system gives to connections. It holds every one until it has them all,
// so that none comes twice.
func FreePorts(n int) ([]int, error) {
	var out []int
	for range 1000 {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		l, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		defer l.Close()
		if out = append(out, port); len(out) == n {
			return out, nil
		}
	}
	return nil, fmt.Errorf("no %d free ports between %d and %d", n, lowestPort, highestPort)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
