package npz

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// File is an open archive.
type File struct {
	path    string
	size    int64
	names   []string
	others  []string
	members map[string]*zip.File
	twice   map[string]bool // names of more than one member
	closer  io.Closer
}

// Open opens a file. The caller closes it; tensors from it stay valid.
func Open(path string) (*File, error) {
	f, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	z, err := open(f, f.Size(), path)
	if err != nil {
		f.Close()
		return nil, dataset.StandIn(context.Background(), err, path)
	}
	z.closer = f
	return z, nil
}

// NewReader reads an archive with size bytes from r, which must stay open while the File is used.
func NewReader(r io.ReaderAt, size int64) (*File, error) { return open(r, size, "") }

func open(r io.ReaderAt, size int64, path string) (*File, error) {
	z, err := zip.NewReader(&source{r, size}, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		err = explain(err, -1)
		return nil, dataset.InFile(err, path)
	}
	f := &File{path: path, size: size, members: make(map[string]*zip.File, len(z.File)), twice: map[string]bool{}}
	for _, m := range z.File {
		name, isArray := strings.CutSuffix(m.Name, ".npy")
		switch {
		case !isArray:
			f.others = append(f.others, m.Name)
		case f.members[name] != nil:
			f.twice[name] = true
		default:
			f.members[name] = m
			f.names = append(f.names, name)
		}
	}
	return f, nil
}

// Names returns the arrays' names, in file order, each once. The caller owns the slice.
func (f *File) Names() []string { return append([]string(nil), f.names...) }

// Others returns the names of the files in the archive that are not arrays. They are ignored.
func (f *File) Others() []string { return append([]string(nil), f.others...) }

// Has reports whether the archive contains an array with a name.
func (f *File) Has(name string) bool { return f.members[name] != nil }

// Header returns the header of an array, without reading its data.
func (f *File) Header(name string) (npy.Header, error) {
	var h npy.Header
	err := f.with(name, func(r *member) (err error) {
		h, err = npy.ReadHeader(r)
		return err
	})
	return h, err
}

// Tensor reads a numeric array, like npy.Read. If the name does not exist, the error is a *dataset.FormatError that is
// dataset.ErrNotFound.
func (f *File) Tensor(name string) (*tensor.Tensor, error) { return whole(f, name, npy.Read) }

// Checked reads a numeric array like npy.Read, but calls check with its header first. If check returns an error, the data is not
// read. If that error is a *dataset.FormatError, Checked sets its path.
func (f *File) Checked(name string, check func(npy.Header) error) (*tensor.Tensor, error) {
	return whole(f, name, func(r io.Reader) (*tensor.Tensor, error) {
		h, err := npy.ReadHeader(r)
		if err != nil {
			return nil, err
		}
		if err := check(h); err != nil {
			return nil, err
		}
		return npy.ReadData(r, &h)
	})
}

// Size returns the declared size of an array in bytes, uncompressed and with its header; 0 if the name does not exist.
func (f *File) Size(name string) int64 {
	if m := f.members[name]; m != nil {
		return int64(min(m.UncompressedSize64, math.MaxInt64))
	}
	return 0
}

// Times reads timestamps, like npy.ReadTimes.
func (f *File) Times(name string) (*tensor.Tensor, error) { return whole(f, name, npy.ReadTimes) }

// Table reads numbers or records as features, like npy.ReadTable.
func (f *File) Table(name string, opt npy.TableOptions) (*npy.Table, error) {
	return whole(f, name, func(r io.Reader) (*npy.Table, error) { return npy.ReadTable(r, opt) })
}

// Cloud reads records as points, like npy.ReadCloud.
func (f *File) Cloud(name string) (*dataset.Cloud, error) { return whole(f, name, npy.ReadCloud) }

// BF16 reads a uint16 array as bf16 bit patterns, like npy.ReadBF16.
func (f *File) BF16(name string) (*tensor.Tensor, error) { return whole(f, name, npy.ReadBF16) }

// Strings reads a string array, like npy.ReadStrings.
func (f *File) Strings(name string) ([]string, error) { return whole(f, name, npy.ReadStrings) }

// Close closes the file that Open opened. Close twice is fine; reading after it is an error that is dataset.ErrClosed.
func (f *File) Close() error {
	return storage.CloseOnce(f.closer)
}

// whole reads a member and makes sure that nothing follows the array and that the checksum holds.
func whole[T any](f *File, name string, read func(io.Reader) (T, error)) (T, error) {
	var v, none T
	err := f.with(name, func(r *member) (err error) {
		if v, err = read(r); err != nil {
			return err
		}
		var one [1]byte
		n, err := io.ReadFull(r, one[:])
		if n > 0 {
			return &dataset.FormatError{Format: "npy", Offset: r.read - 1, Kind: dataset.ErrCorrupt, Msg: "after the array", Got: "more bytes", Want: "the end"}
		}
		if err == io.EOF {
			return nil
		}
		return err
	})
	if err != nil {
		return none, err
	}
	return v, nil
}

// with opens a member for fn, and puts the archive's path and the member's name into its errors.
func (f *File) with(name string, fn func(*member) error) error {
	m := f.members[name]
	if m == nil {
		return &dataset.FormatError{Format: "npz", Path: f.path, Offset: -1, Kind: dataset.ErrNotFound, Msg: "array", Got: fmt.Sprintf("%q", name), Want: f.want()}
	}
	if f.twice[name] {
		return &dataset.FormatError{Format: "npz", Path: f.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: "array", Got: fmt.Sprintf("%q twice", name), Want: "each name once"}
	}
	if how := packing(m); how != "" {
		return &dataset.FormatError{Format: "npz", Path: f.member(m), Offset: -1, Kind: dataset.ErrUnsupported, Msg: "member", Got: how, Want: "stored or deflated"}
	}
	rc, err := m.Open()
	if err == nil {
		r := &member{r: rc, size: f.expect(m)}
		err = fn(r)
		rc.Close()
		err = explain(err, r.read)
	} else {
		err = explain(err, -1)
	}
	return dataset.InFile(err, f.member(m))
}

// member is the path of a member, as errors have it.
func (f *File) member(m *zip.File) string {
	if f.path == "" {
		return m.Name
	}
	return f.path + ":" + m.Name
}

// want lists the arrays in the archive.
func (f *File) want() string {
	switch {
	case len(f.names) > 0:
		return "one of " + text.List(f.names, mostNames)
	case len(f.others) > 0:
		return "arrays: of the archive's members none is called NAME.npy, but " + text.List(f.others, mostNames)
	}
	return "an archive that is not empty"
}

// packings are the ways of zip to pack that are not read, by their numbers in APPNOTE.TXT, 4.4.5.
var packings = map[uint16]string{9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz", 98: "ppmd"}

// packing describes a member's compression if it is not supported.
func packing(m *zip.File) string {
	switch how := packings[m.Method]; {
	case m.Flags&1 != 0:
		return "encrypted"
	case m.Method == zip.Store || m.Method == zip.Deflate:
		return ""
	case how != "":
		return "compressed with " + how
	}
	return fmt.Sprintf("compressed with method %d", m.Method)
}

// Stored returns the size of an array in the archive in bytes, compressed.
func (f *File) Stored(name string) int64 {
	if m := f.members[name]; m != nil {
		return int64(min(m.CompressedSize64, uint64(f.size)))
	}
	return 0
}

// explain returns errors from the underlying reader unchanged, and converts errors about broken archives.
func explain(err error, at int64) error {
	var bad *dataset.FormatError
	var below *sourceError
	switch {
	case err == nil || errors.As(err, &bad) || errors.Is(err, tensor.ErrOutOfMemory):
		return err
	case errors.As(err, &below):
		if errors.Is(below.err, fs.ErrClosed) {
			return fmt.Errorf("npz: %w: %w", dataset.ErrClosed, below.err)
		}
		return below.err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &dataset.FormatError{Format: "npz", Offset: at, Kind: dataset.ErrTruncated, Msg: "archive", Err: io.ErrUnexpectedEOF}
	}
	return &dataset.FormatError{Format: "npz", Offset: at, Kind: dataset.ErrCorrupt, Msg: "archive", Err: err}
}

// source marks the errors of the reader below, and keeps offsets that a broken archive names inside the file.
type source struct {
	r    io.ReaderAt
	size int64
}

type sourceError struct{ err error }

func (e *sourceError) Error() string { return e.err.Error() }

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off > s.size {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := s.r.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}

// expect returns the expected size of a member in bytes: the declared size, but no more than the archive could hold with ordinary
// compression. Reading may exceed it as data arrives.
func (f *File) expect(m *zip.File) int {
	packed := min(m.CompressedSize64, uint64(f.size))
	if m.Method != zip.Store {
		packed *= 4
	}
	return int(min(m.UncompressedSize64, packed))
}

// member counts the bytes that were read, and bounds the size for package npy.
type member struct {
	r    io.Reader
	size int
	read int64
}

func (m *member) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	m.read += int64(n)
	return n, err
}

// Len is a hint of the bytes to come.
func (m *member) Len() int { return max(0, m.size-int(m.read)) }
