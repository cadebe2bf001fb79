package hdf5

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// exercise reads all that a file has, in every way, and returns an error that is not of the kind that broken files may give. A second time it does
// not compare checksums, which a hostile writer would get right.
func exercise(data []byte) (objects int, wrong error) {
	if objects, wrong = exerciseAs(data, false); wrong == nil {
		_, wrong = exerciseAs(data, true)
	}
	return objects, wrong
}

func exerciseAs(data []byte, believe bool) (objects int, wrong error) {
	check := func(err error) {
		var bad *dataset.FormatError
		var shape *tensor.Error
		switch {
		case err == nil || errors.As(err, &shape) || wrong != nil:
		case !errors.As(err, &bad):
			wrong = fmt.Errorf("an error without a place: %w", err)
		case bad.Kind == nil || bad.Offset < -1 || bad.Offset > int64(len(data)):
			wrong = fmt.Errorf("byte %d of %d: %w", bad.Offset, len(data), err)
		}
	}
	values := func(v *Values) {
		n := v.Len()
		raw, err := v.Raw(0, n)
		check(err)
		if most := max(maxUnfilled, deflateRatio*len(data)); len(raw) > most {
			wrong = fmt.Errorf("%d bytes of a file of %d", len(raw), len(data))
		}
		_, err = v.Read()
		check(err)
		_, err = v.Rows(n/2, min(n, n/2+1))
		check(err)
		if k := v.Type().Kind; k == String || k == VarString || k == Array {
			_, err = v.ReadStrings()
			check(err)
		} else if k == Sequence {
			_, err = v.Bytes(0, n)
			check(err)
		}
		for _, f := range v.Type().Fields {
			field, err := v.Field(f.Name)
			check(err)
			_, err = field.Rows(0, min(n, 1))
			check(err)
			_, err = field.Strings(0, min(n, 1))
			check(err)
		}
	}
	f, err := (&source{r: bytes.NewReader(data), size: int64(len(data)), believe: believe}).file()
	if check(err); err != nil {
		return 0, wrong
	}
	visit := func(_ string, o Object, err error) error {
		if check(err); err != nil {
			return nil
		}
		objects++
		list, err := o.Attrs()
		check(err)
		for _, a := range list {
			values(&a.Values)
		}
		if d, ok := o.(*Dataset); ok {
			values(&d.Values)
		}
		return nil
	}
	check(visit("/", f.Root(), nil))
	check(f.Root().Walk(visit))
	return objects, wrong
}

// within fails if a file takes longer than any honest one of its size.
func within(t *testing.T, what string, data []byte) {
	began := time.Now()
	_, err := exercise(data)
	require.NoError(t, err, what)
	require.Less(t, time.Since(began), time.Minute, what)
}

// files are those of testdata and, where they are, the shared ones up to a size.
func files(t testing.TB, size int64) map[string][]byte {
	found := map[string][]byte{}
	for _, dir := range folders {
		names, err := filepath.Glob(filepath.Join(dir, "*.hdf5*"))
		require.NoError(t, err)
		for _, name := range names {
			info, err := os.Stat(name)
			require.NoError(t, err)
			if dir == "testdata" || info.Size() <= size {
				found[filepath.Base(name)], err = os.ReadFile(name)
				require.NoError(t, err)
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

// A broken byte is an error or other data: no panic, nothing without end, no more memory than the file's size allows.
func TestBrokenBytesAreErrorsOrData(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for name, data := range files(t, 16<<10) {
		t.Run(name, func(t *testing.T) {
			within(t, "as it is", data)
			// Some bytes, spread over the file: a step that is no multiple of what the format's structures are.
			step := max(1, len(data)/thorough.Of(27, 60)) | 1
			for at := 0; at < len(data); at += step {
				for k, x := range []byte{0xff, 1, 0x80} {
					if len(data) > 100_000 && (at/step+k)%thorough.Of(3, 1) != 0 {
						continue
					}
					data[at] ^= x
					within(t, fmt.Sprintf("byte %d with %#x", at, x), data)
					data[at] ^= x
				}
			}
		})
	}
}

func TestFilesThatAreCutAreErrorsOrData(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	data := filetest.Read(t, "testdata/test_string_datasets_earliest.hdf5")
	whole, err := exercise(data)
	require.NoError(t, err)
	assert.Equal(t, 6, whole, "objects")
	for n := range data {
		objects, err := exercise(data[:n:n])
		require.NoError(t, err, n)
		require.LessOrEqual(t, objects, whole, n)
	}
	f, err := NewReader(bytes.NewReader(data[:len(data)-1]), int64(len(data)-1))
	require.NoError(t, err)
	assert.Equal(t, []string{"the file ends at byte 9421, and should at 9422"}, f.Warnings())
}

// In every other mutant all checksums count as right, as a hostile writer would make them.
func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	seeds, err := mutate.Files("testdata", "fletcher32_datasets_earliest.hdf5", "test_attribute_latest.hdf5",
		"test_compressed_chunked_datasets_latest.hdf5", "test_string_datasets_earliest.hdf5")
	require.NoError(t, err)
	mutate.Run(t, mutate.Plan{Seeds: seeds, Few: 2000, Most: 3 * maxUnfilled, Try: func(m mutate.Mutant) {
		_, wrong := exerciseAs(m.Data, m.N%2 == 0)
		require.NoError(t, wrong)
	}})
}

func FuzzRead(f *testing.F) {
	for _, data := range files(f, 4<<10) {
		if len(data) < 16<<10 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := exercise(data); err != nil {
			t.Fatal(err)
		}
	})
}
