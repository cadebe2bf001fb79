package h5test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// Open opens a file as one format.
type Open func(path string, opt dataset.Options) (dataset.Dataset, error)

// most is how much memory a file of some 100 kB may take in all at one time: what its size allows, twice, as raw values and as numbers, and once
// for garbage.
const most = 3 * 200 << 20

// Read reads all that a file has, and returns an error that is not of the kind that broken files may give. Whole reports whether there was none at all.
func Read(path string, open Open, opt dataset.Options) (whole bool, wrong error) {
	whole = true
	check := func(err error) bool {
		var bad *dataset.FormatError
		switch {
		case err == nil:
			return true
		case !errors.As(err, &bad) && !errors.Is(err, dataset.ErrOption):
			wrong = errors.Join(wrong, fmt.Errorf("an error without a place: %w", err))
		case bad != nil && bad.Kind == nil:
			wrong = errors.Join(wrong, fmt.Errorf("an error of no kind: %w", err))
		}
		whole = false
		return false
	}
	ctx := context.Background()
	d, err := open(path, opt)
	if !check(err) {
		return whole, wrong
	}
	defer d.Close()
	whole = whole && len(d.Info().Problems) == 0
	for i := range d.Len() {
		e, err := d.Episode(ctx, i)
		if !check(err) {
			continue
		}
		whole = whole && e.Damage == nil
		for k := range e.Streams {
			if err := e.Streams[k].Check(); err != nil {
				wrong = errors.Join(wrong, err)
			}
		}
		for k := range e.Media {
			m := &e.Media[k]
			for _, i := range []int{0, m.Len() / 2, m.Len() - 1} {
				if i >= 0 && i < m.Len() {
					_, err := m.Frame(ctx, i)
					check(err)
				}
			}
		}
	}
	return whole, wrong
}

// Hostile reads a file cut at every so many bytes, and with so many random changes.
func Hostile(t *testing.T, file string, open Open, step, changes int) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a.hdf5")
	try := func(what string, data []byte, kinds ...bool) (whole bool) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		began := time.Now()
		for _, strict := range kinds {
			var wrong error
			whole, wrong = Read(path, open, dataset.Options{Strict: strict, Rate: 50})
			require.NoError(t, wrong, what)
		}
		require.Less(t, time.Since(began), 20*time.Second, what)
		return whole
	}
	require.True(t, try("as it is", data, true, false))
	for n := 0; n < len(data); n += step {
		require.False(t, try(fmt.Sprintf("cut at %d", n), data[:n], n/step%2 == 0), "cut at %d, and nothing said so", n)
	}
	random := rand.New(rand.NewPCG(1, uint64(len(data))))
	for k := range changes {
		changed := append([]byte(nil), data...)
		for range 1 + random.IntN(4) {
			at := random.IntN(len(changed))
			switch random.IntN(4) {
			case 0:
				changed[at] = byte(random.Uint32())
			case 1:
				changed[at] ^= 1 << random.IntN(8)
			case 2:
				changed[at] = 0xff
			case 3: // as a size or an address would be changed
				for i := at &^ 7; i < min(at&^7+8, len(changed)); i++ {
					changed[i] = changed[random.IntN(len(changed))]
				}
			}
		}
		try(fmt.Sprintf("change %d", k), changed, k%2 == 0)
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	require.Less(t, stats.HeapSys, uint64(most), "bytes of heap")
}

// Fuzz reads what it is given as a file.
func Fuzz(f *testing.F, open Open, files ...string) {
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.hdf5")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		for _, strict := range []bool{false, true} {
			_, wrong := Read(path, open, dataset.Options{Strict: strict})
			require.NoError(t, wrong)
		}
	})
}
