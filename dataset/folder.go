package dataset

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// openFolder opens a folder: a dataset of a format that has folders, or else files of one format, of which each is an episode. Other files in it are
// ignored, and so is text beside files of a format that is none.
func openFolder(ctx context.Context, path string, opt Options) (Dataset, error) {
	for _, f := range Formats() {
		if f.Folder != nil && f.Folder(path) {
			return f.Open(ctx, path, opt)
		}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	found := map[string]*folder{}
	for _, named := range []bool{false, true} {
		for _, entry := range entries {
			file := filepath.Join(path, entry.Name())
			if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() || strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			f, ok, err := match(file, named)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			if found[f.Name] == nil {
				found[f.Name] = &folder{path: path, format: f, opt: opt}
			}
			found[f.Name].files = append(found[f.Name].files, file)
		}
		if len(found) > 0 {
			break // what only its name tells is one of the other files
		}
	}
	others := maps.Clone(found)
	if maps.DeleteFunc(others, func(_ string, d *folder) bool { return d.format.Text }); len(others) > 0 {
		found = others
	}
	if len(found) != 1 {
		got := "a folder without a file of any that is known here"
		if len(found) > 1 {
			var list []string
			for _, name := range slices.Sorted(maps.Keys(found)) {
				list = append(list, fmt.Sprintf("%d of %s", len(found[name].files), name))
			}
			got = "a folder with files of several: " + strings.Join(list, ", ")
		}
		return nil, &FormatError{Format: "dataset", Path: path, Offset: -1, Kind: ErrUnsupported, Msg: "format", Got: got, Want: "files of one: " + known()}
	}
	for _, d := range found {
		slices.SortFunc(d.files, CompareNames)
		return d, nil
	}
	return nil, nil // there is one
}

// folder is the dataset of files of one format.
type folder struct {
	path   string
	format Format
	opt    Options
	files  []string
}

func (d *folder) Name() string   { return filepath.Base(d.path) }
func (d *folder) Format() string { return d.format.Name }
func (d *folder) Info() Info     { return Info{} }
func (d *folder) Len() int       { return len(d.files) }
func (d *folder) Close() error   { return nil }

func (d *folder) Episode(ctx context.Context, i int) (e *Episode, err error) {
	if i < 0 || i >= len(d.files) {
		return nil, &RangeError{What: "episode", Got: i, Len: len(d.files)}
	}
	one, err := d.format.Open(ctx, d.files[i], d.opt)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := one.Close(); err == nil {
			err = closing
		}
	}()
	return one.Episode(ctx, 0)
}

// CompareNames orders names as people do: numbers in them by their value, so that demo_2 comes before demo_10.
func CompareNames(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x == 0 || y == 0 {
			if a[0] != b[0] {
				return int(a[0]) - int(b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
		if len(m) != len(n) {
			return len(m) - len(n)
		}
		if c := strings.Compare(m, n); c != 0 {
			return c
		}
		a, b = a[x:], b[y:]
	}
	return len(a) - len(b)
}

// digits returns how many there are at the beginning.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
