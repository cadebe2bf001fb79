package cuda

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ptx"
)

var (
	_ tuned.Device = (*stream)(nil)
	_ tuned.Plan   = (*plan)(nil)
)

// kernelsHash is that of all images.
var kernelsHash = sync.OnceValue(func() string {
	h := sha256.New()
	for _, name := range ptx.Families() {
		for _, im := range ptx.Images(name) {
			fmt.Fprintln(h, im.File, im.Hash)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
})

// identity is the device's.
func (b *backend) identity() tuned.Identity {
	name, err := b.dev.Name()
	if err != nil {
		name = err.Error()
	}
	major, minor := b.dev.ComputeCapability()
	return tuned.Identity{Device: name, Capability: fmt.Sprintf("%d.%d", major, minor), Kernels: kernelsHash()}
}

// tablePath is where a backend's table lies, and "" with the reason if nowhere: the file that ROBOCACHE_TUNED names, or in that folder,
// or in the user's cache, a file named after the device. Only a real device looks there.
func (b *backend) tablePath() (path, why string) {
	id := b.identity()
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, strings.ToLower(id.Device+" sm "+id.Capability))
	file := "tuned-" + clean + ".json"
	given := os.Getenv("ROBOCACHE_TUNED")
	switch st, err := os.Stat(given); {
	case given == "off":
		return "", "ROBOCACHE_TUNED is off"
	case given != "" && err == nil && st.IsDir():
		return filepath.Join(given, file), ""
	case given != "":
		return given, ""
	case b.kind != "cuda":
		return "", "a simulated device takes no table but that of ROBOCACHE_TUNED"
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err.Error()
	}
	return filepath.Join(dir, "robocache", file), ""
}

// loadTable reads the table, if there is one for this device and these kernels, and says which launch shapes are used. What is
// wrong with a file is no error: the model does.
func (b *backend) loadTable() {
	path, why := b.tablePath()
	b.shapes = "the model: " + why
	if path == "" {
		return
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		b.shapes = "the model: there is no " + path
		return
	}
	var t *tuned.Table
	if err == nil {
		t, err = tuned.Read(f, b.identity())
		f.Close()
	}
	if err != nil {
		b.shapes = fmt.Sprintf("the model: %s is not used: %v", path, err)
		return
	}
	b.table.Store(t)
	b.shapes = fmt.Sprintf("tuned for %d classes by %s, else the model", len(t.Entries()), path)
}

func (st *stream) Tuned() (t *tuned.Table, path string) {
	path, _ = st.b.tablePath()
	if t = st.b.table.Load(); t == nil {
		t = tuned.New(st.b.identity())
	}
	return t, path
}

func (st *stream) Tune(t *tuned.Table) error {
	if t != nil && t.For != st.b.identity() {
		return fmt.Errorf("cuda: Tune: %w", tuned.ErrStale)
	}
	st.b.table.Store(t)
	return nil
}
