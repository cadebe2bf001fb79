//go:build !linux

package memory

import "io/fs"

// addressSpace is not known here.
func addressSpace(fs.FS) Room { return Room{unknown, "system"} }
