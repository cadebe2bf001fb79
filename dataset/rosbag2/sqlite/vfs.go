package sqlite

import (
	"database/sql"
	"io"
	"io/fs"
	"strconv"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"
	"modernc.org/sqlite/vfs"
)

// images are the databases that are open, as a file system of SQLite's: a database's number is its name there.
var images = struct {
	sync.Mutex
	once sync.Once
	name string // SQLite's of the file system
	err  error
	last uint64
	open map[string]*image
}{open: map[string]*image{}}

type fileSystem struct{}

func (fileSystem) Open(name string) (fs.File, error) {
	images.Lock()
	defer images.Unlock()
	m := images.open[name]
	if m == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &reader{image: m, section: io.NewSectionReader(m, 0, m.size)}, nil
}

// reader is an image that a connection has open.
type reader struct {
	image   *image
	section *io.SectionReader
}

func (r *reader) Read(b []byte) (int, error)               { return r.section.Read(b) }
func (r *reader) Seek(at int64, whence int) (int64, error) { return r.section.Seek(at, whence) }
func (r *reader) Close() error                             { return nil }
func (r *reader) Stat() (fs.FileInfo, error)               { return info{r.image.size}, nil }

// info is what SQLite asks of a file: its size.
type info struct{ size int64 }

func (i info) Name() string     { return "" }
func (i info) Size() int64      { return i.size }
func (info) Mode() fs.FileMode  { return 0o444 }
func (info) ModTime() time.Time { return time.Time{} }
func (info) IsDir() bool        { return false }
func (info) Sys() any           { return nil }

// connect makes a database of an image. release forgets it.
func connect(m *image) (db *sql.DB, release func(), err error) {
	images.once.Do(func() { images.name, _, images.err = vfs.New(fileSystem{}) })
	if images.err != nil {
		return nil, nil, images.err
	}
	images.Lock()
	images.last++
	name := strconv.FormatUint(images.last, 10)
	images.open[name] = m
	images.Unlock()
	release = func() {
		images.Lock()
		defer images.Unlock()
		delete(images.open, name)
	}
	// The schema of a file from elsewhere is not trusted, and sizes in its pages are checked before use.
	db, err = sql.Open("sqlite", "file:"+name+"?vfs="+images.name+"&mode=ro&immutable=1&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=temp_store(2)")
	if err != nil {
		release()
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	return db, release, nil
}
