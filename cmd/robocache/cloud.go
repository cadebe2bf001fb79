package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/kitti"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/pcd"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// cloud has the points and features of a file or a recording, as arguments for ops.Voxelize.
type cloud struct {
	path     string
	points   *tensor.Tensor // [N,3] f32, or f64 if the file has doubles
	features *tensor.Tensor // [N,F] f32, f64, f16 or bf16; nil if there are none
	names    []string       // [F] names of the features, or nil
	offsets  *tensor.Tensor // [B+1] i64; nil for one cloud
	times    *tensor.Tensor // [B] i64, ns, of a batch of clouds from a recording; else nil
	images   *depthReport   // the depth images that the points are from; nil if there are none
	noteList
}

// cloudFormats are the extensions for point cloud files.
var cloudFormats = []string{"pcd", "ply", "bin", "npy", "npz"}

// cloudFormat returns the format by the file's extension, or by its first bytes if the extension is unknown. Bare numbers have no magic
// bytes: a file in no other format has bare numbers if --columns names its columns.
func cloudFormat(path string, columns bool) (string, error) {
	folder, head, err := beginning(path, 8)
	if err != nil {
		return "", err
	}
	want := "a .pcd, .ply, .bin, .npy or .npz file"
	if folder {
		return "", &inputError{Path: path, Got: "a folder", Want: want}
	}
	if ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), "."); slices.Contains(cloudFormats, ext) {
		return ext, nil
	}
	for _, m := range [][2]string{{"PLY\n", "ply"}, {"PLY\r", "ply"}, {"# .PCD", "pcd"}, {"VERSION ", "pcd"}, {"\x93NUMPY", "npy"}, {"PK\x03\x04", "npz"}} {
		if len(head) >= len(m[0]) && strings.EqualFold(string(head[:len(m[0])]), m[0]) {
			return m[1], nil
		}
	}
	if columns {
		return "bin", nil
	}
	return "", &inputError{Path: path, Msg: "of no known format, want " + want + ", or --columns for bare float32 numbers"}
}

// loadCloud reads a file with points. The columns are for .bin files, because those do not name their columns.
func loadCloud(path string, opt kitti.Options) (_ *cloud, err error) {
	defer dataset.Watched(path, &err)()
	form, err := cloudFormat(path, opt.Columns != nil)
	if err != nil {
		return nil, err
	}
	if opt.Columns != nil && form != "bin" {
		return nil, usagef("--columns is for .bin files, which do not name their columns, got a .%s file", form)
	}
	c := &cloud{path: path, noteList: newNotes()}
	var read *dataset.Cloud
	switch form {
	case "pcd":
		read, err = pcd.ReadFile(path, dataset.Options{Strict: opt.Strict})
	case "ply":
		read, err = ply.ReadFile(path, dataset.Options{Strict: opt.Strict})
	case "bin":
		read, err = kitti.ReadFile(path, opt)
		if bad, ok := err.(*dataset.FormatError); ok && errors.Is(bad, dataset.ErrUnsupported) {
			bad.Want += ": --columns NAME,NAME,..."
		}
	case "npy":
		read, err = c.npy()
	default:
		read, err = c.npz()
	}
	var bad *dataset.FormatError
	var input *inputError
	switch {
	case err == nil:
	case errors.As(err, &bad), errors.As(err, &input):
		return nil, err
	default:
		return nil, readError(path, err)
	}
	if read != nil {
		c.take(read)
	}
	return c, nil
}

// take copies a reader's cloud, and adds remarks about lost data.
func (c *cloud) take(read *dataset.Cloud) {
	c.points, c.names = read.Points, read.Names()
	if len(c.names) > 0 {
		c.features = read.Features
	}
	c.inexact(read.Inexact)
	for _, n := range read.Notes.Of(dataset.ClassLeftOut) {
		c.remark("columns-unused", "not used: %d of %s", n.Count, n.Subject)
	}
	c.trailing(read.Trailing)
	c.notes(read.Notes.Damage())
}

func (c *cloud) inexact(n int) {
	if n > 0 {
		c.remark("values-rounded", "%d numbers were rounded to float32", n)
	}
}

func (c *cloud) trailing(n int64) {
	if n > 0 {
		c.remark("bytes-unread", "%d bytes after the points were not read", n)
	}
}

func (c *cloud) fail(array string, got any, want string) error {
	return &inputError{Path: c.path, Array: array, Got: fmt.Sprint(got), Want: want}
}

// npy reads an array [N,3+F] into c and returns nil. If the array has records with x, y and z, it returns their cloud instead.
func (c *cloud) npy() (read *dataset.Cloud, err error) {
	file, err := storage.Open(context.Background(), c.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	f := storage.Reader(file)
	r := bufio.NewReaderSize(f, 1<<16)
	head, err := npy.ReadHeader(r)
	if err == nil {
		if _, err = f.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		r.Reset(f)
		if head.IsRecords() {
			read, err = npy.ReadCloud(r)
		} else {
			err = c.columns(r)
		}
	}
	err = dataset.InFile(err, c.path)
	if err != nil {
		return nil, err
	}
	rest, err := io.Copy(io.Discard, r)
	c.trailing(rest)
	return read, err
}

// columns reads an array [N,3+F] into c: 3 coordinates, then F features.
func (c *cloud) columns(r io.Reader) error {
	t, err := npy.Read(r)
	if err != nil {
		return err
	}
	if t.Rank() != 2 || t.Dim(1) < 3 {
		return c.fail("", t, "[N,3+F]: x, y, z, then the features, or records with fields x, y and z")
	}
	points, err := t.Slice(1, 0, 3)
	if err != nil {
		return err
	}
	features, err := t.Slice(1, 3, t.Dim(1))
	if err != nil {
		return err
	}
	return c.set(points, features)
}

// npz reads the arrays points [N,3] and, if they exist, features [N,F] or [N], and offsets [B+1]. If points has records with x, y and z, it
// returns their cloud, which includes the features.
func (c *cloud) npz() (found *dataset.Cloud, err error) {
	file, err := npz.Open(c.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	read := map[string]*tensor.Tensor{}
	if head, err := file.Header("points"); err == nil && head.IsRecords() {
		if found, err = file.Cloud("points"); err != nil {
			return nil, &inputError{Path: c.path, Array: "points", Err: err}
		}
		read["points"] = found.Points
	}
	for _, name := range []string{"points", "features", "offsets"} {
		if name != "points" && !file.Has(name) || found != nil && name != "offsets" {
			continue
		}
		if read[name], err = file.Tensor(name); err != nil {
			return nil, &inputError{Path: c.path, Array: name, Err: err}
		}
	}
	var unused []string
	for _, name := range slices.Concat(file.Names(), file.Others()) {
		if read[name] == nil {
			unused = append(unused, name)
		}
	}
	if len(unused) > 0 {
		c.remark("arrays-unused", "not used: %s", strings.Join(unused, ", "))
	}
	points, features, offsets := read["points"], read["features"], read["offsets"]
	if points.Rank() != 2 || points.Dim(1) != 3 {
		return nil, c.fail("points", points, "[N,3], or records with fields x, y and z")
	}
	if features != nil && features.Rank() == 1 { // a single feature
		if features, err = features.Reshape(features.Dim(0), 1); err != nil {
			return nil, err
		}
	}
	if features != nil && (features.Rank() != 2 || features.Dim(0) != points.Dim(0)) {
		return nil, c.fail("features", read["features"], fmt.Sprintf("[%[1]d,F], a row a point, or [%[1]d]", points.Dim(0)))
	}
	if offsets != nil {
		if offsets.Rank() != 1 || offsets.Dim(0) == 0 || offsets.DType() != tensor.I64 && offsets.DType() != tensor.I32 {
			return nil, c.fail("offsets", offsets, "whole numbers [B+1]")
		}
		if c.offsets, err = toI64(offsets); err != nil {
			return nil, err
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, c.set(points, features)
}

// set stores the points and features. It keeps f32 and f64 points and all float features, and rounds other dtypes to f32.
func (c *cloud) set(points, features *tensor.Tensor) error {
	var n int
	var err error
	switch points.DType() {
	case tensor.F16:
		points, _, err = numbersAs(points, func(v tensor.Float16) (float32, bool) { return v.F32(), true })
	case tensor.BF16:
		points, _, err = numbersAs(points, func(v tensor.BFloat16) (float32, bool) { return v.F32(), true })
	}
	if err != nil {
		return err
	}
	if c.points, n, err = rounded(points); err != nil {
		return err
	}
	if features != nil && features.Dim(1) > 0 {
		var m int
		if c.features, m, err = rounded(features); err != nil {
			return err
		}
		n += m
	}
	c.inexact(n)
	return nil
}

// rounded converts whole numbers to f32, and returns how many of them f32 cannot represent. It returns floats unchanged, and 0.
func rounded(t *tensor.Tensor) (*tensor.Tensor, int, error) {
	switch t.DType() {
	case tensor.U8:
		return numbersAs(t, func(v uint8) (float32, bool) { return float32(v), true })
	case tensor.I32:
		return numbersAs(t, func(v int32) (float32, bool) { return dataset.Float[float32](int64(v)) })
	case tensor.I64:
		return numbersAs(t, dataset.Float[float32, int64])
	}
	return t, 0, nil
}

// toI64 converts whole numbers to i64.
func toI64(t *tensor.Tensor) (*tensor.Tensor, error) {
	switch t.DType() {
	case tensor.I32:
		return widened[int32](t)
	case tensor.U8:
		return widened[uint8](t)
	}
	return t, nil
}

func widened[T int32 | uint8](t *tensor.Tensor) (*tensor.Tensor, error) {
	data, err := tensor.Data[T](t)
	if err != nil {
		return nil, err
	}
	return tensor.Of(tensor.Cast[int64](data), len(data))
}

func numbersAs[T tensor.Element](t *tensor.Tensor, to func(T) (float32, bool)) (*tensor.Tensor, int, error) {
	data, err := tensor.Packed[T](t)
	if err != nil {
		return nil, 0, err
	}
	out, inexact := make([]float32, len(data)), 0
	for i, v := range data {
		f, exact := to(v)
		if out[i] = f; !exact {
			inexact++
		}
	}
	made, err := tensor.Of(out, t.Shape()...)
	return made, inexact, err
}
