package zarr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/zarr/internal/blosc"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/tensor"
)

const (
	// chunkBytes is a chunk's size before compression, unless a row is larger.
	chunkBytes = 512 << 10
	// mostJobs is how many chunks wait until they are compressed in parallel.
	mostJobs = 16
)

// Error is the reason why an array or an episode cannot be written.
type Error struct {
	Array     string
	Kind      error // dataset.ErrOption or dataset.ErrShape
	Got, Want string
}

func (e *Error) Error() string {
	return fmt.Sprintf("zarr: array %q: got %s, want %s", e.Array, e.Got, e.Want)
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Array is an array in data, [N, Shape...].
type Array struct {
	Name    string
	DType   string   // numpy's name for a number type, little-endian: "<f4", "|u1"
	Shape   []int    // a row's shape; nil for one number
	Columns []string // attribute columns, names for the numbers in a row; nil for none
	Unit    string   // attribute unit, for timestamps: "ns"
	MaskOf  string   // attribute mask_of: the array whose rows are valid where this one is not 0
}

// Writer writes a dataset: a zarr 2 folder in ReplayBuffer layout, compressed by blosc with zstd and byte shuffle. It is for one
// goroutine at a time. Its bytes depend only on the arrays and rows.
type Writer struct {
	folder *atomicfile.Folder
	arrays []*column
	ends   []int64
	about  setAttributes
	jobs   []job
	sums   map[string]uint32 // the written files' CRCs, by their paths below the folder
	files  []string          // these paths in the order in which they were written
	err    error             // the first that broke the output
}

// column is an array that is being written.
type column struct {
	Array
	row, item int // bytes
	per       int // rows a chunk
	rows      int
	pending   []byte // rows for the last chunk
}

// job is a chunk to compress and write.
type job struct {
	path string
	data []byte
	item int
}

// Create begins a dataset that Commit will name path. A folder with this name is replaced then. rate is the attribute fps, Hz; 0 for none.
func Create(path string, rate float64) (*Writer, error) {
	folder, err := atomicfile.NewFolder(path, true)
	if err != nil {
		return nil, err
	}
	return &Writer{folder: folder, about: setAttributes{FPS: rate}, sums: map[string]uint32{}}, nil
}

// Declare adds an array, before the first rows. If zarr has no place for its name, or if its type or shape is invalid, the error is an
// *Error.
func (w *Writer) Declare(a Array) error {
	bad := func(got, want string) error {
		return &Error{Array: a.Name, Kind: dataset.ErrOption, Got: got, Want: want}
	}
	head, err := npy.HeaderOf(a.DType, 0, a.Shape...)
	_, number := head.DType()
	switch {
	case a.Name == "" || len(a.Name) > 200 || strings.HasPrefix(a.Name, ".") || strings.ContainsAny(a.Name, "/\\\x00"):
		return bad("this name", "1 to 200 bytes without slashes, and no dot first")
	case slices.ContainsFunc(w.arrays, func(c *column) bool { return strings.EqualFold(c.Name, a.Name) }):
		return bad("the name twice", "each name once")
	case err != nil || !number || head.Len() == 0 || head.Len() > 1<<28:
		return bad(a.DType+" "+tensor.FormatShape(a.Shape), "a number type, and 1 to 2^28 in a row")
	}
	c := &column{Array: a, item: head.ItemSize(), row: head.Len() * head.ItemSize()}
	c.per = max(chunkBytes/c.row, 1)
	w.arrays = append(w.arrays, c)
	return nil
}

// Append adds rows to an array that was declared: whole rows, little-endian and row-major. The bytes are copied.
func (w *Writer) Append(name string, rows []byte) error {
	i := slices.IndexFunc(w.arrays, func(c *column) bool { return c.Name == name })
	if i < 0 || len(rows)%w.arrays[i].row != 0 {
		return &Error{Array: name, Kind: dataset.ErrShape, Got: fmt.Sprintf("%d bytes", len(rows)), Want: "whole rows for a declared array"}
	}
	c := w.arrays[i]
	for len(rows) > 0 && w.err == nil {
		n := min(c.per*c.row-len(c.pending), len(rows))
		c.pending, rows = append(c.pending, rows[:n]...), rows[n:]
		if c.rows += n / c.row; len(c.pending) == c.per*c.row {
			w.complete(c)
		}
	}
	return w.err
}

// complete makes an array's pending rows a chunk.
func (w *Writer) complete(c *column) {
	numbers := strconv.Itoa((c.rows-1)/c.per) + strings.Repeat(".0", len(c.Shape))
	w.jobs = append(w.jobs, job{filepath.Join("data", c.Name, numbers), c.pending, c.item})
	if c.pending = nil; len(w.jobs) == mostJobs {
		w.flush()
	}
}

// flush compresses and writes the chunks that wait. It sets w.err if that fails.
func (w *Writer) flush() {
	n := len(w.jobs)
	for i, data := range inorder.Each(context.Background(), n, runtime.GOMAXPROCS(0), n, func([]byte) int { return n }, func(_ context.Context, i int) []byte {
		return blosc.Encode(w.jobs[i].data, w.jobs[i].item)
	}) {
		if w.write(w.jobs[i].path, data); w.err != nil {
			break
		}
	}
	w.jobs = w.jobs[:0]
}

// write writes a file, unless an earlier one failed. It sets w.err if that fails.
func (w *Writer) write(path string, data []byte) {
	if w.err != nil {
		return
	}
	file, err := w.folder.Create(filepath.Join(w.folder.Path(), path))
	if err == nil {
		_, err = file.Write(data)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		w.err = w.broken(path, err)
		return
	}
	w.sums[path] = crc32.Checksum(data, castagnoli)
	w.files = append(w.files, path)
}

// broken wraps an error with the file's final path.
func (w *Writer) broken(path string, err error) error {
	if below := (*fs.PathError)(nil); errors.As(err, &below) {
		err = below.Err
	}
	return &fs.PathError{Op: "write", Path: filepath.Join(w.folder.Name(), path), Err: err}
}

// EndEpisode ends an episode after its rows. All arrays must have as many rows then, or the error is an *Error. The name, the task and
// the success become attributes; empty ones and nil are left out.
func (w *Writer) EndEpisode(name, task string, success *bool) error {
	for _, c := range w.arrays {
		if c.rows != w.arrays[0].rows {
			return &Error{Array: c.Name, Kind: dataset.ErrShape, Got: fmt.Sprintf("%d rows", c.rows), Want: fmt.Sprintf("%d, as %s", w.arrays[0].rows, w.arrays[0].Name)}
		}
	}
	if len(w.arrays) > 0 {
		w.ends = append(w.ends, int64(w.arrays[0].rows))
		w.about.Episodes = append(w.about.Episodes, episodeAttributes{name, task, success})
	}
	return w.err
}

// header is .zarray.
type header struct {
	Chunks     []int          `json:"chunks"`
	Compressor map[string]any `json:"compressor"`
	DType      string         `json:"dtype"`
	Fill       int            `json:"fill_value"`
	Filters    []string       `json:"filters"`
	Order      string         `json:"order"`
	Shape      []int          `json:"shape"`
	Format     int            `json:"zarr_format"`
}

// describe writes the files that describe an array, with per rows in a chunk.
func (w *Writer) describe(path string, a *Array, rows, per int) {
	about := map[string]any{}
	if a.Columns != nil {
		about["columns"] = a.Columns
	}
	if a.Unit != "" {
		about["unit"] = a.Unit
	}
	if a.MaskOf != "" {
		about["mask_of"] = a.MaskOf
	}
	w.writeJSON(filepath.Join(path, ".zattrs"), about)
	w.writeJSON(filepath.Join(path, metadataNames[0]), &header{
		Shape: append([]int{rows}, a.Shape...), Chunks: append([]int{per}, a.Shape...), DType: a.DType, Order: "C", Format: 2,
		Compressor: map[string]any{"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0},
	})
}

func (w *Writer) writeJSON(path string, v any) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(v); err != nil {
		w.err = errors.Join(w.err, err)
	}
	w.write(path, b.Bytes())
}

// Commit completes the dataset, reads its files back and gives the folder its name. After an error the earlier folder stays there. If a
// file does not have the written bytes, the error is atomicfile.ErrReadBack.
func (w *Writer) Commit(ctx context.Context) error {
	for _, c := range w.arrays {
		if c.per = min(c.per, max(c.rows, 1)); len(c.pending) > 0 {
			c.pending = append(c.pending, make([]byte, c.per*c.row-len(c.pending))...)
			w.complete(c)
		}
	}
	w.flush()
	ends := Array{DType: "<i8"}
	var b bytes.Buffer
	t, err := tensor.Of(w.ends, len(w.ends))
	if err == nil {
		err = npy.WriteData(&b, t)
	}
	w.err = errors.Join(w.err, err)
	for _, c := range w.arrays {
		w.describe(filepath.Join("data", c.Name), &c.Array, c.rows, c.per)
	}
	w.describe(endsPath, &ends, len(w.ends), max(len(w.ends), 1))
	w.write(filepath.Join(endsPath, "0"), blosc.Encode(b.Bytes(), 8))
	for _, group := range []string{"data", "meta", ""} {
		w.writeJSON(filepath.Join(group, ".zgroup"), map[string]int{"zarr_format": 2})
	}
	w.writeJSON(".zattrs", &w.about)
	if w.err != nil {
		return w.err
	}
	for _, path := range w.files {
		data, err := fault.ReadFile(filepath.Join(w.folder.Path(), path))
		if err == nil && crc32.Checksum(data, castagnoli) != w.sums[path] {
			err = atomicfile.ErrReadBack
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return w.broken(path, err)
		}
	}
	return w.folder.Commit()
}

// Close removes the files unless Commit succeeded. Close twice is fine.
func (w *Writer) Close() error { return w.folder.Close() }
