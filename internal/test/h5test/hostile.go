package h5test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/internal/test/mutate"
)

// Open opens a file as a dataset of one format.
type Open func(path string, opt dataset.Options) (dataset.Dataset, error)

// most is the limit in bytes for all allocations while a file of about 100 kB is read: three times 200 MiB, once for raw values, once
// for values as numbers, and once for garbage.
const most = 3 * 200 << 20

// Hostile reads a file truncated at every step-th byte, alternately strict and not. Each must be reported as damaged, and none may
// give an untyped error or take over 20 seconds. The whole file must be read without errors or notes.
func Hostile(t *testing.T, file string, open Open, step int) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "a.hdf5")
	try := func(what string, data []byte, kinds ...bool) (whole bool) {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		began := time.Now()
		for _, strict := range kinds {
			var wrong error
			whole, wrong = mutate.Read(at(path, open), dataset.Options{Strict: strict, Rate: 50})
			require.NoError(t, wrong, what)
		}
		require.Less(t, time.Since(began), 20*time.Second, what)
		return whole
	}
	require.True(t, try("as it is", data, true, false))
	for n := 0; n < len(data); n += step {
		require.False(t, try(fmt.Sprintf("cut at %d", n), data[:n], n/step%2 == 0), "cut at %d, and nothing said so", n)
	}
}

// Mutants reads mutants of files. In every second mutant of a file with checksums, mend corrects the checksums of the structures. few
// is as in mutate.Plan.
func Mutants(t *testing.T, open Open, few int, files ...string) {
	path := filepath.Join(t.TempDir(), "a.hdf5")
	seeds, err := mutate.Files("", files...)
	require.NoError(t, err)
	mutate.Run(t, mutate.Plan{Seeds: seeds, Few: few, Most: most, Try: func(m mutate.Mutant) {
		if m.N%2 == 0 && bytes.Contains(m.Data, []byte("OHDR")) {
			mend(m.Data)
		}
		require.NoError(t, os.WriteFile(path, m.Data, 0o600))
		_, wrong := mutate.Read(at(path, open), dataset.Options{Strict: m.N%4 == 0, Rate: 50})
		require.NoError(t, wrong)
	}})
}

func at(path string, open Open) func(dataset.Options) (dataset.Dataset, error) {
	return func(opt dataset.Options) (dataset.Dataset, error) { return open(path, opt) }
}

// mend corrects wrong checksums of HDF5 structures in place. A wrong checksum hides the structures that it leads to, so it takes up
// to four rounds.
func mend(data []byte) {
	for range 4 {
		whole := true
		check := func(err error) {
			var bad *dataset.FormatError
			if !errors.As(err, &bad) || !strings.HasSuffix(bad.Msg, "checksum") || bad.Offset < 0 || bad.Offset+4 > int64(len(data)) {
				return
			}
			if sum, err := strconv.ParseUint(bad.Got, 16, 32); err == nil {
				binary.LittleEndian.PutUint32(data[bad.Offset:], uint32(sum))
				whole = false
			}
		}
		f, err := hdf5.NewReader(bytes.NewReader(data), int64(len(data)))
		if check(err); err == nil {
			visit := func(_ string, o hdf5.Object, err error) error {
				if check(err); err == nil {
					_, err = o.Attrs()
					check(err)
				}
				return nil
			}
			check(visit("/", f.Root(), nil))
			check(f.Root().Walk(visit))
		}
		if whole {
			return
		}
	}
}

// Fuzz reads the fuzzer's inputs as files, strict and not. The named files are the first inputs.
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
			_, wrong := mutate.Read(at(path, open), dataset.Options{Strict: strict})
			require.NoError(t, wrong)
		}
	})
}
