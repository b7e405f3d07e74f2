// Package filelock keeps a second process from what one at a time may use.
package filelock

import "errors"

// ErrHeld says that another process has the file locked.
var ErrHeld = errors.New("another process has it open")
