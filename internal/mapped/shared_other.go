//go:build !linux

package mapped

import "errors"

// NewShared is there on Linux alone.
func NewShared(int64) (Shared, string, error) { return nil, "", errors.ErrUnsupported }

// OpenShared is there on Linux alone.
func OpenShared(string, int64) (Shared, error) { return nil, errors.ErrUnsupported }
