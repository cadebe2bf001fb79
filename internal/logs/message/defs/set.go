package defs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

const (
	mostDeep  = 12      // nested folders
	mostFiles = 200_000 // files in a search
	mostText  = 1 << 20 // bytes in a definition
)

// Set is a set of message definitions. Its methods may be called from any goroutine.
type Set struct {
	types map[string]string // from the caller's files, by full ROS name
}

// Open reads definitions from files, and from folders with their subfolders. A file X.msg or X.idl defines the type pkg/X: pkg is its
// folder, or the folder above if that is "msg", as in share/geometry_msgs/msg/Twist.msg. If a type occurs twice, the first counts, and .msg
// comes before .idl. A path without a definition is a *dataset.OptionError.
func Open(ctx context.Context, paths []string) (*Set, error) {
	s := &Set{types: map[string]string{}}
	for _, p := range paths {
		found := finder{ctx: ctx, files: map[string]string{}}
		err := found.look(p, 0)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, &dataset.OptionError{Arg: "Definitions", Got: p + ", which is not there", Want: "folders or files of message definitions, .msg or .idl"}
		case err != nil:
			return nil, err
		case len(found.files) == 0:
			return nil, &dataset.OptionError{Arg: "Definitions", Got: p + ", without any", Want: "folders or files of message definitions, .msg or .idl"}
		}
		for name, file := range found.files {
			if _, known := s.types[name]; known {
				continue
			}
			text, err := storage.ReadFile(ctx, file)
			if err != nil {
				return nil, err
			}
			s.types[name] = string(text)
		}
	}
	return s, nil
}

// finder collects definitions.
type finder struct {
	ctx   context.Context
	seen  int
	files map[string]string // by type name
}

func (f *finder) look(p string, deep int) error {
	info, err := storage.Stat(f.ctx, p)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return f.add(p, info)
	}
	list, err := storage.ReadDir(f.ctx, p)
	if err != nil {
		return err
	}
	for _, entry := range list {
		if f.seen++; f.seen > mostFiles {
			return &dataset.OptionError{Arg: "Definitions", Got: fmt.Sprintf("a folder of more than %d files", mostFiles), Want: "one of message definitions"}
		}
		if err := f.ctx.Err(); err != nil {
			return err
		}
		below := storage.Join(p, entry.Name)
		switch {
		case strings.HasPrefix(entry.Name, "."):
		case entry.IsDir() && deep < mostDeep:
			err := f.look(below, deep+1)
			if err != nil && !errors.Is(err, fs.ErrPermission) {
				return err
			}
		case entry.IsRegular():
			if err := f.add(below, entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a file if it is a definition.
func (f *finder) add(p string, info storage.Info) error {
	kind := filepath.Ext(info.Name)
	if kind != ".msg" && kind != ".idl" {
		return nil
	}
	if info.Size > mostText {
		return &dataset.FormatError{Format: "message", Path: p, Offset: -1, Kind: dataset.ErrTooLarge, Msg: "message definition", Got: fmt.Sprintf("%d bytes", info.Size),
			Want: fmt.Sprintf("at most %d", mostText)}
	}
	full := p
	if local, ok := storage.Local(p); ok {
		if abs, err := filepath.Abs(local); err == nil {
			full = abs
		}
	}
	dir := storage.Dir(full)
	if storage.Base(dir) == "msg" {
		dir = storage.Dir(dir)
	}
	name := storage.Base(dir) + "/" + strings.TrimSuffix(info.Name, kind)
	if had, ok := f.files[name]; !ok || filepath.Ext(had) == ".idl" && kind == ".msg" {
		f.files[name] = p
	}
	return nil
}

// Lookup returns a function from a full ROS name, such as "geometry_msgs/Twist", to the type's definition. The caller's definition
// takes precedence over the distribution's built-in one. An unknown distribution counts as the newest. A missing type gives "".
func (s *Set) Lookup(distro string) func(name string) string {
	distro = Known(distro)
	return func(name string) string {
		name = short(name)
		if text, ok := s.types[name]; ok {
			return text
		}
		return ofDistro(name, distro)
	}
}

// short returns the name in ROS 1's form: "geometry_msgs/Twist" for "geometry_msgs/msg/Twist".
func short(name string) string { return strings.Replace(name, "/msg/", "/", 1) }

// Choices returns the distributions that define a type differently, newest first. For each distinct definition it is the newest
// distribution. It is nil for an unknown type.
func (s *Set) Choices(name string) (distros []string) {
	var have []string
	for _, distro := range slices.Backward(Distros()) {
		all := s.closure(name, s.Lookup(distro))
		if all == "" {
			return nil
		}
		if !slices.Contains(have, all) {
			have, distros = append(have, all), append(distros, distro)
		}
	}
	return distros
}

// closure returns the definitions of a type and of all types in it.
func (s *Set) closure(name string, lookup func(string) string) string {
	var all strings.Builder
	names := []string{short(name)}
	for i := 0; i < len(names); i++ {
		text := lookup(names[i])
		all.WriteString(text)
		for line := range strings.Lines(text) {
			kind, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			kind, _, _ = strings.Cut(kind, "[")
			if !strings.Contains(kind, "/") {
				kind = path.Dir(names[i]) + "/" + kind
			}
			if kind = short(kind); !slices.Contains(names, kind) && lookup(kind) != "" {
				names = append(names, kind)
			}
		}
	}
	return all.String()
}
