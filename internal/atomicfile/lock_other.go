//go:build !(linux || darwin)

package atomicfile

import "os"

// tryLock does nothing where the system has no such lock.
func tryLock(*os.File) (held, possible bool) { return false, false }
