package zarr

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/zarr/internal/blosc"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/tensor"
)

const (
	// chunkBytes is a chunk's size before compression, unless a row is larger.
	chunkBytes = 512 << 10
	// mostPending is how many bytes of an array wait until they are compressed in parallel, unless a row is larger.
	mostPending = 16 << 20
)

// Array is an array in data, [N, Shape...]. Its JSON is the array's attributes.
type Array struct {
	Name    string   `json:"-"`
	DType   string   `json:"-"`                 // numpy's name for a number type, little-endian: "<f4", "|u1"
	Shape   []int    `json:"-"`                 // a row's shape; nil for one number
	Columns []string `json:"columns,omitempty"` // names for the numbers in a row; nil for none
	Unit    string   `json:"unit,omitempty"`    // for timestamps: "ns"
	MaskOf  string   `json:"mask_of,omitempty"` // the array whose rows are valid where this one is not 0
}

// Writer writes a dataset: a zarr 2 folder in ReplayBuffer layout, compressed by blosc with zstd and byte shuffle. It is for one
// goroutine at a time. Its bytes depend only on the arrays and rows.
type Writer struct {
	// Rate is the attribute fps, Hz; 0 for none.
	Rate float64

	folder   *atomicfile.Folder
	arrays   []*column // the first is meta/episode_ends
	episodes []episodeAttributes
}

// column is an array that is being written.
type column struct {
	Array
	path      string
	row, item int // bytes
	per       int // rows a chunk
	rows      int
	pending   []byte // rows that are not in a file
}

// Create begins a dataset that Commit will name path. A folder with this name is replaced then.
func Create(path string) (*Writer, error) {
	folder, err := atomicfile.NewFolder(path, true)
	if err != nil {
		return nil, err
	}
	ends := &column{Array: Array{DType: "<i8"}, path: endsPath, row: 8, item: 8, per: chunkBytes / 8}
	return &Writer{folder: folder, arrays: []*column{ends}}, nil
}

// Declare adds an array, before the first rows. If zarr has no place for its name, or if its type or shape is invalid, the error is a
// *dataset.StreamError.
func (w *Writer) Declare(a Array) error {
	head, err := npy.HeaderOf(a.DType, 0, a.Shape...)
	_, number := head.DType()
	taken := slices.ContainsFunc(w.arrays, func(c *column) bool { return strings.EqualFold(c.Name, a.Name) }) // the first has no name
	switch {
	case taken || len(a.Name) > 200 || strings.HasPrefix(a.Name, ".") || strings.ContainsAny(a.Name, "/\\\x00"):
		return &dataset.StreamError{Stream: a.Name, Arg: "Name", Got: "this one",
			Want: "one of its own, 1 to 200 bytes without slashes, and no dot first"}
	case err != nil || !number || head.Len() == 0 || head.Len() > 1<<28:
		return &dataset.StreamError{Stream: a.Name, Arg: "Values", Got: a.DType + " " + tensor.FormatShape(a.Shape),
			Want: "numbers, 1 to 2^28 in a row"}
	}
	row := head.Len() * head.ItemSize()
	c := &column{Array: a, path: filepath.Join("data", a.Name), row: row, item: head.ItemSize(), per: max(chunkBytes/row, 1)}
	w.arrays = append(w.arrays, c)
	return nil
}

// Append adds rows to an array that was declared: whole rows, little-endian and row-major. The bytes are copied.
func (w *Writer) Append(name string, rows []byte) error {
	i := slices.IndexFunc(w.arrays, func(c *column) bool { return c.Name == name })
	if name == "" || i < 0 || len(rows)%w.arrays[i].row != 0 {
		return &dataset.StreamError{Stream: name, Arg: "Values", Got: fmt.Sprintf("%d bytes", len(rows)), Want: "whole rows for a declared array"}
	}
	return w.arrays[i].add(w.folder, rows)
}

func (c *column) add(folder *atomicfile.Folder, rows []byte) error {
	size := c.per * c.row
	for most := max(mostPending/size, 1) * size; len(rows) > 0; {
		n := min(most-len(c.pending), len(rows))
		c.pending, rows = append(c.pending, rows[:n]...), rows[n:]
		c.rows += n / c.row
		if len(c.pending) == most {
			if err := c.flush(folder); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush compresses and writes the pending rows. The last chunk is filled with zeros.
func (c *column) flush(folder *atomicfile.Folder) error {
	size := c.per * c.row
	n := (len(c.pending) + size - 1) / size
	first := (c.rows+c.per-1)/c.per - n
	c.pending = append(c.pending, make([]byte, n*size-len(c.pending))...)
	encode := func(_ context.Context, i int) []byte { return blosc.Encode(c.pending[i*size:(i+1)*size], c.item) }
	for i, data := range inorder.Each(context.Background(), n, runtime.GOMAXPROCS(0), n, func([]byte) int { return n }, encode) {
		numbers := strconv.Itoa(first+i) + strings.Repeat(".0", len(c.Shape))
		if err := folder.WriteFile(filepath.Join(c.path, numbers), data); err != nil {
			return err
		}
	}
	c.pending = c.pending[:0]
	return nil
}

// EndEpisode ends an episode with the appended rows. If the arrays have different lengths, the error is a *dataset.StreamError. The name,
// task and success may be empty.
func (w *Writer) EndEpisode(name, task string, success *bool) error {
	end := w.arrays[len(w.arrays)-1].rows
	for _, c := range w.arrays[1:] {
		if c.rows != end {
			return &dataset.StreamError{Stream: c.Name, Arg: "Values", Got: fmt.Sprintf("%d rows", c.rows), Want: fmt.Sprint(end)}
		}
	}
	w.episodes = append(w.episodes, episodeAttributes{name, task, success})
	return w.arrays[0].add(w.folder, binary.LittleEndian.AppendUint64(nil, uint64(end)))
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

// Commit completes the dataset, reads its files back and gives the folder its name. After an error the earlier folder stays there. If a
// file does not have the written bytes, the error is atomicfile.ErrReadBack.
func (w *Writer) Commit(context.Context) error {
	group := map[string]int{"zarr_format": 2}
	files := map[string]any{".zattrs": &setAttributes{w.Rate, w.episodes}, ".zgroup": group, "data/.zgroup": group, "meta/.zgroup": group}
	for _, c := range w.arrays {
		c.per = min(c.per, max(c.rows, 1))
		if err := c.flush(w.folder); err != nil {
			return err
		}
		files[filepath.Join(c.path, ".zattrs")] = &c.Array
		files[filepath.Join(c.path, metadataNames[0])] = &header{
			Shape: append([]int{c.rows}, c.Shape...), Chunks: append([]int{c.per}, c.Shape...), DType: c.DType, Order: "C", Format: 2,
			Compressor: map[string]any{"id": "blosc", "cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0},
		}
	}
	for path, content := range files {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "    ")
		err := e.Encode(content)
		if err == nil {
			err = w.folder.WriteFile(path, b.Bytes())
		}
		if err != nil {
			return err
		}
	}
	return w.folder.Commit()
}

// Close removes the files unless Commit succeeded. Close twice is fine.
func (w *Writer) Close() error { return w.folder.Close() }
