//go:build !(linux || darwin)

package atomicfile

import "os"

const noFollow = 0

// tryLock does nothing where the system has no such lock.
func tryLock(*os.File) (held, possible bool) { return false, false }

// links returns 2, because the number of a file's names is not known.
func links(os.FileInfo) int { return 2 }
