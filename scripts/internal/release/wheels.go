package release

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/internal/atomicfile"
)

// WriteWheel writes a wheel to the folder dir and returns its path. A wheel over MaxWheel bytes is an error.
func WriteWheel(dir string, w Wheel) (string, error) {
	path := filepath.Join(dir, w.Name())
	return path, atomicfile.WriteFile(path, func(to io.Writer) error {
		n := counter{to: to}
		if err := w.Write(&n); err != nil {
			return err
		}
		if n.bytes > MaxWheel {
			return fmt.Errorf("%s has %d bytes, and may have %d", w.Name(), n.bytes, int(MaxWheel))
		}
		return nil
	})
}

// Wheels builds the Linux binaries from module root and writes their wheels to the folder dir, which it creates if needed. It returns
// their paths.
func Wheels(root, version, dir string) ([]string, error) {
	scratch, err := os.MkdirTemp("", "robocache-wheel-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	modules, err := Modules(root, Targets)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	var paths []string
	for _, t := range Targets {
		if t.OS() != "linux" {
			continue
		}
		binary := filepath.Join(scratch, t.Arch())
		if err := Build(root, t, version, binary); err != nil {
			return nil, err
		}
		path, err := WriteWheel(dir, Wheel{Root: root, Version: version, Arch: t.Arch(), Binary: binary, Notices: Notices(modules), Modules: modules})
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// counter counts the bytes that it forwards.
type counter struct {
	to    io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}
