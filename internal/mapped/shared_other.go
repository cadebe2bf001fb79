//go:build !linux

package mapped

import "errors"

// NewShared returns errors.ErrUnsupported, because shared memory needs Linux.
func NewShared(int64) (Shared, string, error) { return nil, "", errors.ErrUnsupported }

// OpenShared returns errors.ErrUnsupported, because shared memory needs Linux.
func OpenShared(string, int64) (Shared, error) { return nil, errors.ErrUnsupported }
