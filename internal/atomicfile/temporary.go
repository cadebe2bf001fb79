package atomicfile

import (
	"os"
	"sync"
	"time"
)

// temporary holds the files and folders that are not to outlive the program.
var temporary = struct {
	sync.Mutex
	paths map[string]int
}{paths: map[string]int{}}

// Temporary notes a file or folder that Abandon is to remove. Call it before the file is made, and what it returns when it is gone or has another
// name.
func Temporary(path string) (release func()) {
	release, _ = making(path, func() error { return nil })
	return release
}

// making notes a file or folder for Abandon, and makes it with do. Abandon comes before or after both.
func making(path string, do func() error) (release func(), err error) {
	temporary.Lock()
	defer temporary.Unlock()
	if err := do(); err != nil {
		return nil, err
	}
	temporary.paths[path]++
	return func() {
		temporary.Lock()
		defer temporary.Unlock()
		if temporary.paths[path]--; temporary.paths[path] <= 0 {
			delete(temporary.paths, path)
		}
	}, nil
}

// Abandon removes what is being written and every other temporary file, for a program that ends at once: no file gets its name after it, and
// whatever would make another waits for ever.
func Abandon() {
	temporary.Lock() // and never unlocked
	for path := range temporary.paths {
		for end := time.Now().Add(time.Second); os.RemoveAll(path) != nil && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // another program, such as ffmpeg, is writing there
		}
	}
}
