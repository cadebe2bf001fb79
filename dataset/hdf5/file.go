package hdf5

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/chunkcache"
	"github.com/robocache/robocache/storage"
)

const magic = "\x89HDF\r\n\x1a\n"

// File is an open file. Several goroutines may use it and its objects, but Close must be the last call.
type File struct {
	*source
	closer   io.Closer
	root     *Group
	warnings []string
	chunks   chunkcache.Cache[chunkKey]

	mu    sync.Mutex
	links map[uint64]groupLinks  // links of the groups read so far, by address
	heaps map[uint64]*collection // global heap collections, by address
	spent int64                  // bytes in these
}

// Open opens a file. The caller closes it.
func Open(path string) (*File, error) {
	r, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	f, err := open(r, r.Size(), path)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	f.closer = r
	return f, nil
}

// NewReader reads a file with size bytes from r, which must stay open.
func NewReader(r io.ReaderAt, size int64) (*File, error) { return open(r, size, "") }

func open(r io.ReaderAt, size int64, path string) (*File, error) {
	return (&source{r: r, size: max(size, 0), path: path}).file()
}

// file reads a file's superblock and root group.
func (s *source) file() (*File, error) {
	f := &File{source: s, links: map[uint64]groupLinks{}, heaps: map[uint64]*collection{}}
	root, err := f.superblock()
	if err != nil {
		return nil, err
	}
	o, err := f.object("/", root, nil)
	if err != nil {
		return nil, err
	}
	g, ok := o.(*Group)
	if !ok {
		return nil, f.fail(f.offset(root), dataset.ErrCorrupt, "root", "no group", "one")
	}
	f.root = g
	return f, nil
}

// Close closes the file that Open opened. Close twice is fine; reading after it is an error that is dataset.ErrClosed.
func (f *File) Close() error {
	f.chunks.Close()
	return storage.CloseOnce(f.closer)
}

// Root returns the root group.
func (f *File) Root() *Group { return f.root }

// Size returns the file size in bytes.
func (f *File) Size() int64 { return f.size }

// Warnings returns problems with the whole file that do not prevent reading: it was not closed, or it is cut.
func (f *File) Warnings() []string { return slices.Clone(f.warnings) }

func (f *File) warn(format string, args ...any) {
	f.warnings = append(f.warnings, fmt.Sprintf(format, args...))
}

// superblock finds the format's start in the file, and returns the root's address.
func (f *File) superblock() (uint64, error) {
	at := int64(0)
	head := make([]byte, 9)
	for ; ; at = max(512, 2*at) {
		if at+int64(len(head)) > f.size {
			return 0, f.fail(0, dataset.ErrCorrupt, "signature", fmt.Sprintf("none in %d bytes", f.size), fmt.Sprintf("% x", magic))
		}
		if err := f.into("signature", uint64(at), head); err != nil {
			return 0, err
		}
		if bytes.HasPrefix(head, []byte(magic)) {
			break
		}
	}
	f.base = at
	c, err := f.read("superblock", 0, uint64(min(f.size-at, 128)))
	if err != nil {
		return 0, err
	}
	c.skip(8)
	var root, eof uint64
	version := c.version(0, 1, 2, 3)
	if version < 2 {
		root, eof, err = f.superblock0(c, version)
	} else {
		root, eof, err = f.superblock2(c, version)
	}
	if err != nil {
		return 0, err
	}
	// The end address counts from the file's first byte if the base does. All writers that put something before the format do this.
	if eof != none && eof > uint64(f.size) {
		f.warn("the file ends at byte %d, and should at %d", f.size, eof)
	}
	return root, nil
}

func (f *File) sizes(c *cursor) {
	f.offsets, f.lengths = c.u8(), c.u8()
	for i, n := range []int{f.lengths, f.offsets} {
		if n != 2 && n != 4 && n != 8 {
			c.bad(i+1, dataset.ErrUnsupported, "bytes of an address or length", fmt.Sprint(n), "2, 4 or 8")
			f.offsets, f.lengths = 8, 8
		}
	}
}

func (f *File) superblock0(c *cursor, version int) (root, eof uint64, err error) {
	c.skip(4)
	f.sizes(c)
	c.skip(1 + 2 + 2 + 4)
	if version == 1 {
		c.skip(4)
	}
	c.address() // the base, which is the superblock's position
	c.address() // free space
	eof = c.address()
	if c.address() != none {
		c.bad(f.offsets, dataset.ErrUnsupported, "driver", "a file that is one of several", "one file")
	}
	c.address() // the root has no name
	return c.address(), eof, c.err
}

func (f *File) superblock2(c *cursor, version int) (root, eof uint64, err error) {
	f.sizes(c)
	flags := c.u8()
	c.address()
	extension := c.address()
	eof, root = c.address(), c.address()
	c.checksum()
	if c.err != nil {
		return 0, 0, c.err
	}
	if version == 3 && flags&1 != 0 {
		f.warn("the file is marked as open for writing: its writer did not close it, or has not yet")
	}
	if version == 3 && flags&4 != 0 {
		f.warn("the file is marked as open for writing while others read (SWMR)")
	}
	if extension == none {
		return root, eof, nil
	}
	h, err := f.header(extension)
	if err != nil {
		return 0, 0, err
	}
	for kind, what := range map[int]string{msgDriver: "a file that is one of several", msgCacheImage: "an image of the metadata cache"} {
		if m := h.find(kind); m != nil {
			return 0, 0, f.fail(m.at, dataset.ErrUnsupported, "superblock extension", what, "none")
		}
	}
	return root, eof, nil
}
