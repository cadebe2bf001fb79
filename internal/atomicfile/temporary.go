package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/robocache/robocache/internal/fault"
)

// temporary holds the files and folders that are not to outlive the program.
var temporary = struct {
	sync.Mutex
	paths map[string]int
	made  []string // by MkdirAll, each after those above it
}{paths: map[string]int{}}

// MkdirAll is os.MkdirAll for outputs. Abandon and RemoveEmpty remove the folders that it made and that are empty.
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

// Temporary notes a file or folder that Abandon is to remove. Call it before the file is made, and what it returns when it is gone or has another
// name.
func Temporary(path string) (release func()) {
	release, _ = making(path, func() error { return nil })
	return release
}

// making notes a path for Abandon and calls do, which makes it. Abandon runs before or after both steps, never between.
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
// whatever would make another waits for ever. Folders of [MkdirAll] that are empty go, too.
func Abandon() {
	temporary.Lock() // and never unlocked
	for path := range temporary.paths {
		for end := time.Now().Add(time.Second); os.RemoveAll(path) != nil && time.Now().Before(end); {
			time.Sleep(time.Millisecond) // another program, such as ffmpeg, is writing there
		}
	}
	removeEmpty()
}

// RemoveEmpty removes the empty folders that MkdirAll has made. A program calls it at its end.
func RemoveEmpty() {
	temporary.Lock()
	defer temporary.Unlock()
	removeEmpty()
}

func removeEmpty() {
	for _, dir := range slices.Backward(temporary.made) {
		if st, err := os.Lstat(dir); err == nil && st.IsDir() {
			_ = os.Remove(dir) // one that holds files stays
		}
	}
	temporary.made = nil
}
