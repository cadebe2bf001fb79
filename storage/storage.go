package storage

import (
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

// File is an open file. ReadAt may be called from any goroutine. It may still be used when the context of Open has ended; see [Bound].
type File interface {
	io.ReaderAt
	io.Closer
	// Size returns the file's size when it was opened, bytes.
	Size() int64
}

// Info is what is known of a file or folder.
type Info struct {
	Name string // without its folder
	Size int64  // bytes; 0 of a folder
	Mode fs.FileMode
	// Modified is when it was written last, in whole seconds of object stores. It is zero where that is not known, as of folders there, and in ReadNames.
	Modified time.Time
}

// IsDir reports whether it is a folder.
func (i Info) IsDir() bool { return i.Mode.IsDir() }

// IsRegular reports whether it is a file, not a folder, a pipe or a device.
func (i Info) IsRegular() bool { return i.Mode.IsRegular() }

// Store has the files of one scheme. Names are whole URLs. A file that there is not is an error that is fs.ErrNotExist. Its methods may be called from
// any goroutine.
type Store interface {
	Open(ctx context.Context, url string) (File, error)
	Stat(ctx context.Context, url string) (Info, error)
	// List returns what is in a folder, by name, but no more than most entries if that is not negative; an empty folder is one that there is not.
	List(ctx context.Context, url string, most int) ([]Info, error)
}

var stores = struct {
	sync.Mutex
	list map[string]Store
}{list: map[string]Store{}}

// Register adds a scheme: "s3". It panics if the scheme is taken.
func Register(scheme string, s Store) {
	stores.Lock()
	defer stores.Unlock()
	if stores.list[scheme] != nil {
		panic("storage: Register called twice for " + scheme)
	}
	stores.list[scheme] = s
}

// Schemes returns those that are registered, by name.
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

// Local returns the path of a local file, which file:// names too, and false for a URL of another scheme.
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

// SchemeError is a scheme of which nobody has registered a store. It is errors.ErrUnsupported.
type SchemeError struct{ Scheme string }

func (e *SchemeError) Error() string {
	return fmt.Sprintf("got scheme %s://, want %s", e.Scheme, e.Want())
}

// Want names what there is: "a path, or file://".
func (e *SchemeError) Want() string {
	want := "a path, or file://"
	for _, s := range Schemes() {
		want += ", " + s + "://"
	}
	return want
}

// Unwrap returns errors.ErrUnsupported.
func (e *SchemeError) Unwrap() error { return errors.ErrUnsupported }

// Open opens a file. A local name that is no regular file, such as a pipe, is refused.
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

// Stat says what a name is.
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

// ReadDir returns what is in a folder, by name. Links are followed; what a link leads to nothing is there with the link's own mode.
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

// ReadNames returns what is in a folder as the folder has it, without sizes, and with links as links: of large folders it is faster than ReadDir. If
// most is not negative it stops at so many entries, which are then in no order.
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

// AtOnce is how many files of a folder are best looked at or opened at a time: one of local ones, and several of an object store, where each takes long.
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

// Reader reads an open file from its beginning.
func Reader(f File) io.ReadSeeker { return io.NewSectionReader(f, 0, f.Size()) }

// ContextReaderAt is a File whose reads can be ended, such as that of a network.
type ContextReaderAt interface {
	ReadAtContext(ctx context.Context, p []byte, off int64) (int, error)
}

// Bound returns the same file, whose reads end with ctx too.
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

// Join joins the elements of a name, as filepath.Join does of a path. A URL's name stays as it is, but for slashes at its end; what is joined to it is
// cleaned, and .. takes the last element.
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

// Base returns the last element of a name.
func Base(name string) string {
	if p, local := Local(name); local {
		return filepath.Base(p)
	}
	return path.Base(name)
}

// Dir returns a name without its last element. That of a URL without a path is itself.
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

// Abs returns the absolute path of a local name, and a URL as it is.
func Abs(name string) (string, error) {
	if p, local := Local(name); local {
		return filepath.Abs(p)
	}
	return name, nil
}
