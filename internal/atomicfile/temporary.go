package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/robocache/robocache/internal/fault"
)

// temporary lists the files and folders that must not outlive the program.
var temporary = struct {
	sync.Mutex
	paths map[string]int
	made  []string // by MkdirAll, each after its parents
}{paths: map[string]int{}}

// MkdirAll is like os.MkdirAll for outputs. Abandon and RemoveEmpty remove the folders that it created and that are still empty.
func MkdirAll(path string) error {
	temporary.Lock()
	defer temporary.Unlock()
	var made []string
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); err == nil || fault.Failed(err) || dir == filepath.Dir(dir) {
			break
		}
		made = append(made, dir)
	}
	slices.Reverse(made)
	temporary.made = append(temporary.made, made...)
	return fault.MkdirAll(path, 0o777)
}

// Temporary registers a file or folder for removal by Abandon. Call it before the file is created. Call release after the file is
// removed or renamed.
func Temporary(path string) (release func()) {
	release, _ = making(path, func() error { return nil })
	return release
}

// making calls do to create path and registers it for Abandon. Abandon runs before or after both steps, never between.
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

// Abandon removes all unfinished outputs and other temporary files, for a program that ends at once. After it no file gets its final
// name, and calls that would create one block forever. Empty folders from [MkdirAll] are removed too.
func Abandon() {
	temporary.Lock() // never unlocked
	for path := range temporary.paths {
		for end := time.Now().Add(time.Second); os.RemoveAll(path) != nil && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // another program, such as ffmpeg, is still writing there
		}
	}
	removeEmpty()
}

// RemoveEmpty removes the empty folders that MkdirAll created. A program calls it before it ends.
func RemoveEmpty() {
	temporary.Lock()
	defer temporary.Unlock()
	removeEmpty()
}

func removeEmpty() {
	for _, dir := range slices.Backward(temporary.made) {
		if st, err := os.Lstat(dir); err == nil && st.IsDir() {
			_ = os.Remove(dir) // a folder with files stays
		}
	}
	temporary.made = nil
}
