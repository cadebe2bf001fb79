package storage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robocache/robocache/internal/memory"
)

// File is an open file. ReadAt may be called from any goroutine, and also after the context of Open has ended; see [Bound].
type File interface {
	io.ReaderAt
	io.Closer
	// Size returns the file size at the time of opening, bytes.
	Size() int64
}

// Info describes a file or folder.
type Info struct {
	Name string // without its folder
	Size int64  // bytes; 0 for a folder
	Mode fs.FileMode
	// Modified is the time of the last write, in whole seconds for object stores. It is zero if unknown, for example for folders in
	// object stores, and in results from ReadNames.
	Modified time.Time
}

// IsDir reports whether the name is a folder.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// IsRegular reports whether the name is a file instead of a folder, a pipe or a device.
func (i Info) IsRegular() bool { return i.Mode.IsRegular() }

// Store opens the files for one scheme. Names are complete URLs. If a file does not exist, the error is fs.ErrNotExist. The methods
// may be called from any goroutine.
type Store interface {
	Open(ctx context.Context, url string) (File, error)
	Stat(ctx context.Context, url string) (Info, error)
	// List returns the content of a folder, sorted by name. If most is not negative, it returns at most that many entries. An empty
	// folder does not exist.
	List(ctx context.Context, url string, most int) ([]Info, error)
}

var stores = struct {
	sync.Mutex
	list map[string]Store
}{list: map[string]Store{}}

// Register adds a scheme such as "s3". It panics if the scheme is already registered.
func Register(scheme string, s Store) {
	stores.Lock()
	defer stores.Unlock()
	if stores.list[scheme] != nil {
		panic("storage: Register called twice for " + scheme)
	}
	stores.list[scheme] = s
}

// Schemes returns the registered schemes, sorted.
func Schemes() []string {
	stores.Lock()
	defer stores.Unlock()
	var names []string
	for name := range stores.list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Local returns the path of a local file, also for file://, and false for a URL with another scheme.
func Local(name string) (string, bool) {
	if scheme, rest, url := strings.Cut(name, "://"); url {
		if scheme == "file" {
			return rest, true
		}
		return "", false
	}
	return name, true
}

// storeOf returns the store of a URL, and false for local names.
func storeOf(name string) (Store, bool, error) {
	if _, local := Local(name); local {
		return nil, false, nil
	}
	scheme, _, _ := strings.Cut(name, "://")
	stores.Lock()
	s := stores.list[scheme]
	stores.Unlock()
	if s == nil {
		return nil, true, &fs.PathError{Op: "open", Path: name, Err: &SchemeError{scheme}}
	}
	return s, true, nil
}

// SchemeError reports a URL scheme without a registered store. It is errors.ErrUnsupported.
type SchemeError struct{ Scheme string }

func (e *SchemeError) Error() string {
	return fmt.Sprintf("got scheme %s://, want %s", e.Scheme, e.Want())
}

// Want lists the valid forms: "a path, or file://, s3://".
func (e *SchemeError) Want() string {
	want := "a path, or file://"
	for _, s := range Schemes() {
		want += ", " + s + "://"
	}
	return want
}

// Unwrap returns errors.ErrUnsupported.
func (e *SchemeError) Unwrap() error { return errors.ErrUnsupported }

// Open opens a file. If a local name is not a regular file, for example a pipe, the error is a *NotFileError.
func Open(ctx context.Context, name string) (File, error) {
	s, is, err := storeOf(name)
	if err != nil {
		return nil, err
	}
	return call("open", name, func() (File, error) {
		if !is {
			path, _ := Local(name)
			return openLocal(path)
		}
		f, err := s.Open(ctx, name)
		if err != nil {
			return nil, err
		}
		return &remote{f, name}, nil
	})
}

// Stat describes a file or folder.
func Stat(ctx context.Context, name string) (Info, error) {
	s, is, err := storeOf(name)
	if err != nil {
		return Info{}, err
	}
	return call("stat", name, func() (Info, error) {
		if is {
			return s.Stat(ctx, name)
		}
		path, _ := Local(name)
		st, err := os.Stat(path)
		if err != nil {
			return Info{}, err
		}
		return Info{st.Name(), st.Size(), st.Mode(), st.ModTime()}, nil
	})
}

// ReadDir returns the content of a folder, sorted by name. Links are followed. A broken link is listed with the link's own mode.
func ReadDir(ctx context.Context, name string) ([]Info, error) {
	s, is, err := storeOf(name)
	if err != nil {
		return nil, err
	}
	return call("list", name, func() ([]Info, error) {
		if is {
			return s.List(ctx, name, -1)
		}
		dir, _ := Local(name)
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		list := make([]Info, len(entries))
		for i, e := range entries {
			list[i] = Info{Name: e.Name(), Mode: e.Type()}
			if st, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
				list[i].Size, list[i].Mode, list[i].Modified = st.Size(), st.Mode(), st.ModTime()
			} else if IsSystem(err) {
				return nil, err
			}
		}
		return list, nil
	})
}

// ReadNames returns the content of a folder without sizes, and with links as links, which is faster than ReadDir for large folders.
// If most is not negative, it stops after that many entries, and they are not sorted.
func ReadNames(ctx context.Context, name string, most int) ([]Info, error) {
	s, is, err := storeOf(name)
	if err != nil {
		return nil, err
	}
	return call("list", name, func() ([]Info, error) {
		if is {
			return s.List(ctx, name, most)
		}
		path, _ := Local(name)
		return namesIn(ctx, path, most)
	})
}

func namesIn(ctx context.Context, path string, most int) ([]Info, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var list []Info
	for err == nil && (most < 0 || len(list) < most) {
		n := 4096
		if most >= 0 {
			n = min(n, most-len(list))
		}
		var entries []fs.DirEntry
		if entries, err = dir.ReadDir(n); err == nil {
			err = ctx.Err()
		}
		for _, e := range entries {
			list = append(list, Info{Name: e.Name(), Mode: e.Type()})
		}
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	if most < 0 {
		slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	}
	return list, nil
}

// AtOnce returns how many files in a folder should be opened at the same time: 1 for local files and 8 for object stores, because
// each request is slow there.
func AtOnce(name string) int {
	if _, local := Local(name); local {
		return 1
	}
	return 8
}

// ReadFile reads a whole file.
func ReadFile(ctx context.Context, name string) ([]byte, error) {
	f, err := Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := memory.Make[byte](name, int(f.Size()))
	if err != nil {
		return nil, err
	}
	n, err := Bound(ctx, f).ReadAt(b, 0)
	if n == len(b) {
		return b, nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// CloseOnce closes f, unless it is nil or closed already.
func CloseOnce(f io.Closer) error {
	if f == nil {
		return nil
	}
	if err := f.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// Reader reads an open file from its beginning.
func Reader(f File) io.ReadSeeker { return io.NewSectionReader(f, 0, f.Size()) }

// ContextReaderAt is a File with reads that can be cancelled, for example over a network.
type ContextReaderAt interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// Bound returns the same file, but its reads also end with ctx.
func Bound(ctx context.Context, f File) File {
	if r, is := f.(ContextReaderAt); is {
		return &bound{f, r, ctx}
	}
	return f
}

type bound struct {
	File
	r   ContextReaderAt
	ctx context.Context
}

func (b *bound) ReadAt(p []byte, off int64) (int, error) { return b.r.ReadAtContext(b.ctx, p, off) }

// Join joins the elements of a name, like filepath.Join for paths. A URL keeps its form, except for slashes at its end; the joined
// elements are cleaned, and .. removes the last element.
func Join(name string, elem ...string) string {
	if path, local := Local(name); local {
		return filepath.Join(append([]string{path}, elem...)...)
	}
	for _, e := range elem {
		for _, part := range strings.Split(filepath.ToSlash(e), "/") {
			switch part {
			case "", ".":
			case "..":
				name = Dir(name)
			default:
				name = strings.TrimRight(name, "/") + "/" + part
			}
		}
	}
	return name
}

// Base returns the last element in a name. For a revision in the cache of the Hugging Face Hub, or its URL, it returns the dataset's name:
// see [Find].
func Base(name string) string {
	if p, local := Local(name); local {
		return cmp.Or(hubName(p), filepath.Base(p))
	}
	return cmp.Or(hubName(name), path.Base(name))
}

// Dir returns a name without its last element. For a URL without a path, it returns the URL.
func Dir(name string) string {
	if p, local := Local(name); local {
		return filepath.Dir(p)
	}
	scheme, rest, _ := strings.Cut(name, "://")
	rest = strings.TrimRight(rest, "/")
	if i := strings.LastIndexByte(rest, '/'); i >= 0 {
		rest = rest[:i]
	}
	return scheme + "://" + rest
}

// Abs returns the absolute path for a local name, and a URL unchanged.
func Abs(name string) (string, error) {
	if p, local := Local(name); local {
		return filepath.Abs(p)
	}
	return name, nil
}
