//go:build notecodes

package notetext

import "github.com/robocache/robocache/dataset"

// templateOf returns the code in place of its sentence. A test builds with this file to find code that depends on sentences.
func templateOf(c dataset.Code) (string, bool) { return c.String(), true }
