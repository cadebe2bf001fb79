//go:build !linux

package serve

import (
	"context"
	"errors"
	"fmt"
	"runtime"
)

var errSystem = fmt.Errorf("serve needs Linux, this is %s: %w", runtime.GOOS, errors.ErrUnsupported)

// NewMemory needs Linux.
func NewMemory(string, int64) (*Memory, error) { return nil, errSystem }

// Close does nothing.
func (m *Memory) Close() error { return nil }

// Run needs Linux.
func Run(context.Context, int, string, func()) error { return errSystem }
