package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/toolstream/toolstream/internal/lease"
	"github.com/toolstream/toolstream/internal/wholefile"
)

// Where trainers agree on the one that works, and where a data folder keeps its
// name there.
const (
	trainerLeaseKey = "trainer.lease"
	trainerNameFile = "trainer.name"
)

// trainerLease is the process's turn at training. It is in the name of the data
// folder, which one process has open at a time, so that a trainer that was killed
// goes on at once.
func (p *process) trainerLease() (*lease.Lease, error) {
	name, err := folderName(p.cfg.Data, trainerNameFile)
	if err != nil {
		return nil, fmt.Errorf("name of the data folder: %w", err)
	}
	return lease.New(trainerLeaseKey, name, p.store, p.log), nil
}

// folderName returns the name that a file of a data folder holds, a new one where it holds
// none.
func folderName(folder, file string) (string, error) {
	path := filepath.Join(folder, file)
	name, err := os.ReadFile(path)
	if err == nil && len(name) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return string(name), err
	}
	name = []byte(rand.Text())
	return string(name), wholefile.Write(path, name, 0o600)
}
