package hdf5

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// expected is what h5py read of a file.
type expected struct {
	File    string
	Count   int
	Objects map[string]struct {
		Group       bool
		Attrs       map[string]any
		Shape       []int
		Dtype       string
		Chunks      []int
		Compression string
		Sha256      string
		First       any
		Fields      map[string]string // sums of the fields of compounds
		Empty       bool
	}
}

// folders are where files with expected values may be: what a clone has, and the recordings beside the repository.
var folders = []string{"testdata", "../../../shared/data/robomimic_bridge", "../../../shared/data/robosuite_hdf5", "../../../shared/data/hdf5_jhdf"}

// warned lists the files that were not closed.
var warned = map[string]string{
	"test_byteshuffle_compressed_datasets_latest.hdf5": "marked as open for writing",
}

// noNumbers lists what has bytes, and no numbers that a tensor holds.
var noNumbers = map[string]string{
	"/refused/wide":       "number 1: not supported: got 18446744073709551615, want at most 2^63-1",
	"/refused/opaque":     "numbers: not supported: got opaque of 3",
	"/refused/references": "numbers: not supported: got reference",
	"/texts/fixed":        "numbers: not supported: got string of 7",
	"/texts/variable":     "numbers: not supported: got variable string",
	"/texts/sequences":    "numbers: not supported: got variable sequence of int16",
	"/records":            "numbers: not supported: got compound (t, id, pose, name, note)",
}

func TestWhatHasNoNumbersIsNamed(t *testing.T) {
	for _, name := range []string{"kinds_earliest.hdf5", "kinds_latest.hdf5"} {
		f, err := Open("testdata/" + name)
		require.NoError(t, err)
		defer f.Close()
		for path, why := range noNumbers {
			d, err := f.Root().Dataset(path)
			require.NoError(t, err)
			_, err = d.Read()
			assert.ErrorIs(t, err, dataset.ErrUnsupported, path)
			assert.ErrorContains(t, err, path+": "+why)
		}
	}
}

// eachFolder runs a test on each folder that is there, with what is expected of its files.
func eachFolder(t *testing.T, test func(t *testing.T, dir string, want []expected)) {
	for _, dir := range folders {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			lists, err := filepath.Glob(filepath.Join(dir, "*.h5py.json"))
			require.NoError(t, err)
			if len(lists) == 0 {
				t.Skip("the shared recordings are not here")
			}
			var all []expected
			for _, name := range lists {
				text := filetest.Read(t, name)
				var want []expected
				require.NoError(t, json.Unmarshal(text, &want))
				all = append(all, want...)
			}
			require.NotEmpty(t, all)
			test(t, dir, all)
		})
	}
}

// refused lists the files and the datasets that are not read, and words of the error that says why.
var refused = map[string]string{
	"bitshuffle_datasets.hdf5":    "filter bitshuffle (32008)",
	"lz4_datasets.hdf5":           "filter lz4 (32004)",
	"test_missing_filter.hdf5bad": "filter szip (4)",
	"/refused/scaleoffset":        "filter scaleoffset (6)",
	"/refused/elsewhere":          "elements in other files",
	"/refused/virtual":            "a virtual dataset, whose elements are in others",
}

func TestDatasetsAreWhatH5pyReads(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	eachFolder(t, func(t *testing.T, dir string, want []expected) {
		sums := 0
		defer func() { assert.Greater(t, sums, 2, "datasets that were compared whole") }()
		for _, e := range want {
			t.Run(e.File, func(t *testing.T) {
				f, err := Open(filepath.Join(dir, e.File))
				require.NoError(t, err)
				defer f.Close()
				if why := warned[e.File]; why == "" {
					assert.Empty(t, f.Warnings())
				} else {
					assert.Contains(t, fmt.Sprint(f.Warnings()), why)
				}
				count := 0
				require.NoError(t, f.Root().Walk(func(path string, o Object, err error) error {
					if err == nil {
						count++
					}
					return nil
				}))
				if e.Count > 0 {
					assert.Equal(t, e.Count, count, "objects")
				}
				for name, w := range e.Objects {
					o, err := f.Root().Open(name)
					if !assert.NoError(t, err, name) {
						continue
					}
					checkAttrs(t, name, o, w.Attrs)
					d, isDataset := o.(*Dataset)
					if !assert.Equal(t, !w.Group, isDataset, name) || !isDataset {
						continue
					}
					assert.Equal(t, w.Empty, d.IsNull(), name)
					if w.Empty {
						continue
					}
					_, dims := d.Type().Flat()
					assert.Equal(t, append([]int{}, w.Shape...), append(d.Shape(), dims...), name)
					if c, ok := d.data.(*chunked); ok && w.Chunks != nil {
						assert.Equal(t, w.Chunks, c.dims, name)
					}
					raw, err := d.Raw(0, d.Len())
					if why := refused[e.File] + refused[name]; why != "" {
						assert.ErrorIs(t, err, dataset.ErrUnsupported, name)
						assert.ErrorContains(t, err, why, name)
						continue
					}
					if !assert.NoError(t, err, name) {
						continue
					}
					if w.Sha256 != "" {
						sum := sha256.Sum256(little(t, d, raw))
						assert.Equal(t, w.Sha256, hex.EncodeToString(sum[:]), "%s: %v", name, d.Type())
						sums++
					}
					for field, sum := range w.Fields {
						v, err := d.Field(field)
						require.NoError(t, err, name)
						raw, err := v.Raw(0, v.Len())
						require.NoError(t, err, name)
						got := sha256.Sum256(raw)
						assert.Equal(t, sum, hex.EncodeToString(got[:]), "%s: field %s", name, field)
						sums++
					}
					checkFirst(t, name, d, w.First)
				}
			})
		}
	})
}

// little returns bytes as the sums of h5py's are of: numbers with the least significant byte first, and of a string its characters.
func little(t *testing.T, d *Dataset, raw []byte) []byte {
	if d.Type().Kind == VarString {
		s, err := d.ReadStrings()
		require.NoError(t, err)
		return []byte(strings.Join(s, ""))
	}
	if base, _ := d.Type().Flat(); base.Big {
		for at := 0; at < len(raw); at += base.Size {
			slices.Reverse(raw[at : at+base.Size])
		}
	}
	return raw
}

// checkFirst compares the first values.
func checkFirst(t *testing.T, name string, d *Dataset, first any) {
	list, ok := first.([]any)
	if !ok || len(list) == 0 || name == "/refused/wide" {
		return
	}
	switch base, _ := d.Type().Flat(); base.Kind {
	case String, VarString:
		got, err := d.ReadStrings()
		if assert.NoError(t, err, name) {
			for i, w := range list {
				assert.Equal(t, w, got[i], name)
			}
		}
	case Int, Uint, Float, Bool:
		x, err := d.Read()
		if assert.NoError(t, err, name) {
			checkNumbers(t, name, x, list)
		}
	case Sequence:
		got, err := d.Bytes(0, d.Len())
		if assert.NoError(t, err, name) {
			for i, w := range list {
				assert.Len(t, got[i], len(w.([]any))*base.Elem.Size, name)
			}
		}
	}
}

func checkNumbers(t *testing.T, name string, x *tensor.Tensor, list []any) {
	got, err := tensor.Floats(x)
	require.NoError(t, err, name)
	require.GreaterOrEqual(t, len(got), len(list), name)
	for i, w := range list {
		switch w := w.(type) {
		case float64:
			assert.Equal(t, w, got[i], "%s: %d", name, i)
		case bool:
			assert.Equal(t, w, got[i] == 1, "%s: %d", name, i)
		case string:
			want := map[string]float64{"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN()}[w]
			assert.Equal(t, fmt.Sprint(want), fmt.Sprint(got[i]), "%s: %d", name, i)
		default:
			assert.Failf(t, "first value", "%s: %T %v", name, w, w)
		}
	}
}

func checkAttrs(t *testing.T, name string, o Object, want map[string]any) {
	list, err := o.Attrs()
	if !assert.NoError(t, err, name) {
		return
	}
	if want == nil {
		return
	}
	got := map[string]*Attr{}
	for _, a := range list {
		got[a.Name] = a
	}
	if len(want) < 12 { // more are not in the list
		assert.Len(t, got, len(want), name)
	}
	for key, w := range want {
		a := got[key]
		if !assert.NotNil(t, a, "%s: attribute %s", name, key) {
			continue
		}
		what := name + ": attribute " + key
		if k := a.Type().Kind; k == Reference || k == Compound {
			_, err := a.Read()
			assert.ErrorIs(t, err, dataset.ErrUnsupported, what)
			assert.ErrorContains(t, err, k.String(), what)
			continue
		}
		switch w := w.(type) {
		case string:
			s, err := a.ReadStrings()
			if assert.NoError(t, err, what) && assert.NotEmpty(t, s, what) {
				assert.Equal(t, w, s[0], what)
			}
		case map[string]any:
			if want, ok := w["sha256"]; ok {
				s, err := a.ReadStrings()
				require.NoError(t, err, what)
				sum := sha256.Sum256([]byte(s[0]))
				assert.Equal(t, want, hex.EncodeToString(sum[:]), what)
				continue
			}
			assert.True(t, a.IsNull(), "%s: %v", what, w)
		case []any:
			if len(w) > 0 {
				if _, text := w[0].(string); text {
					s, err := a.ReadStrings()
					if assert.NoError(t, err, what) {
						for i := range w {
							assert.Equal(t, w[i], s[i], what)
						}
					}
					continue
				}
			}
			x, err := a.Read()
			if assert.NoError(t, err, what) {
				checkNumbers(t, what, x, w)
			}
		default:
			assert.Failf(t, "attribute", "%s: %T %v", what, w, w)
		}
	}
}

// Rows are the rows of the whole, wherever chunks begin, and Field is what records hold there.
func TestRowsAreThoseOfTheWhole(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	eachFolder(t, func(t *testing.T, dir string, want []expected) {
		for _, e := range want {
			if refused[e.File] != "" || len(e.Objects) > 50 {
				continue
			}
			f, err := Open(filepath.Join(dir, e.File))
			require.NoError(t, err)
			defer f.Close()
			require.NoError(t, f.Root().Walk(func(path string, o Object, _ error) error {
				d, ok := o.(*Dataset)
				if !ok {
					return nil
				}
				all, err := d.Raw(0, d.Len())
				if err != nil {
					return nil
				}
				n := d.Len()
				for _, cut := range [][2]int{{0, 0}, {0, 1}, {n / 2, n}, {n / 3, n/3 + 1}, {n - 1, n}, {1, n - 1}, {n, n}} {
					lo, hi := cut[0], cut[1]
					if lo < 0 || hi > n || lo > hi {
						continue
					}
					part, err := d.Raw(lo, hi)
					require.NoError(t, err, path)
					row := d.perRow() * d.typ.Size
					require.True(t, bytes.Equal(all[lo*row:hi*row], part), "%s %s: rows %d to %d", e.File, path, lo, hi)
				}
				return nil
			}))
		}
	})
}
