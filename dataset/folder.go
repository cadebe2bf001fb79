package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// openFolder opens a folder: a dataset of a format that has folders, or else files of one format, of which each has episodes. Other files in it are
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
	take := func(f Format, file string) {
		if found[f.Name] == nil {
			found[f.Name] = &folder{path: path, format: f, opt: opt}
		}
		found[f.Name].parts = append(found[f.Name].parts, part{path: file})
	}
	var broken []string // files of which cannot be told more than that their container is known
	var last Format     // takes them
	for _, named := range []bool{false, true} {
		for _, entry := range entries {
			file := filepath.Join(path, entry.Name())
			if st, err := os.Stat(file); err != nil || !st.Mode().IsRegular() || strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			f, ok, err := match(file, named)
			var bad *FormatError
			switch {
			case errors.As(err, &bad):
				broken, last = append(broken, file), f
			case err != nil:
				return nil, err
			case ok:
				take(f, file)
			}
		}
		if len(found)+len(broken) > 0 {
			break // what only its name tells is one of the other files
		}
	}
	others := maps.Clone(found)
	if maps.DeleteFunc(others, func(_ string, d *folder) bool { return d.format.Text }); len(others)+len(broken) > 0 {
		found = others
	}
	for _, d := range found {
		last = d.format // one that is broken costs itself
	}
	for _, file := range broken {
		if last.Open != nil {
			take(last, file)
		}
	}
	if len(found) != 1 {
		got := "a folder without a file of any that is known here"
		if len(found) > 1 {
			var list []string
			for _, name := range slices.Sorted(maps.Keys(found)) {
				list = append(list, fmt.Sprintf("%d of %s", len(found[name].parts), name))
			}
			got = "a folder with files of several: " + strings.Join(list, ", ")
		}
		return nil, &FormatError{Format: "dataset", Path: path, Offset: -1, Kind: ErrUnsupported, Msg: "format", Got: got, Want: "files of one: " + known()}
	}
	for _, d := range found {
		slices.SortFunc(d.parts, func(a, b part) int { return CompareNames(a.path, b.path) })
		return d, d.index(ctx)
	}
	return nil, nil // there is one
}

// folder is the dataset of files of one format. A few files are open at a time: those that were last asked for.
type folder struct {
	path   string
	format Format
	opt    Options
	parts  []part
	count  int // episodes
	kind   string
	info   Info

	mu     sync.Mutex
	open   []*shared // the last used is last
	closed bool
}

// part is a file of a folder.
type part struct {
	path  string
	first int // of its episodes
	count int
}

// index opens each file once, to know how many episodes it has and what it says of itself.
func (d *folder) index(ctx context.Context) error {
	for i := range d.parts {
		p := &d.parts[i]
		p.first, p.count = d.count, 1
		if err := ctx.Err(); err != nil {
			return err
		}
		one, err := d.format.Open(ctx, p.path, d.opt)
		switch {
		case errors.Is(err, ErrOption) || ctx.Err() != nil:
			return cmp.Or(err, ctx.Err())
		case err != nil:
			d.info.Problems = append(d.info.Problems, Problem{filepath.Base(p.path), err.Error()})
		default:
			p.count = one.Len()
			d.join(p, one)
			if err := one.Close(); err != nil {
				return err
			}
		}
		d.count += p.count
	}
	d.kind = cmp.Or(d.kind, d.format.Name)
	return nil
}

// join adds what a file says of itself. Of what files say differently, only the first's features and attributes that all have are the folder's.
func (d *folder) join(p *part, one Dataset) {
	info, base := one.Info(), filepath.Base(p.path)
	info.Problems = slices.Clone(info.Problems)
	for i := range info.Problems {
		info.Problems[i].Where = base + ": " + info.Problems[i].Where
	}
	if d.kind == "" {
		before := d.info.Problems
		d.kind, d.info = one.Format(), info
		d.info.Problems = append(before, info.Problems...)
		d.info.Tasks, d.info.Splits, d.info.Attributes = slices.Clone(info.Tasks), nil, maps.Clone(info.Attributes)
	} else {
		if d.kind != one.Format() {
			d.kind = d.format.Name
		}
		if d.info.Rate != info.Rate || d.info.RateFrom != info.RateFrom {
			d.info.Rate, d.info.RateFrom = 0, ""
		}
		d.info.Frames += info.Frames
		d.info.Problems = append(d.info.Problems, info.Problems...)
		maps.DeleteFunc(d.info.Attributes, func(key, value string) bool { return info.Attributes[key] != value })
		for _, task := range info.Tasks {
			if !slices.Contains(d.info.Tasks, task) {
				d.info.Tasks = append(d.info.Tasks, task)
			}
		}
	}
	for _, s := range info.Splits {
		i := slices.IndexFunc(d.info.Splits, func(o Split) bool { return o.Name == s.Name })
		if i < 0 {
			i = len(d.info.Splits)
			d.info.Splits = append(d.info.Splits, Split{Name: s.Name, Episodes: []int{}})
		}
		for _, k := range s.Episodes {
			d.info.Splits[i].Episodes = append(d.info.Splits[i].Episodes, p.first+k)
		}
	}
}

func (d *folder) Name() string   { return filepath.Base(d.path) }
func (d *folder) Format() string { return d.kind }
func (d *folder) Info() Info     { return d.info }
func (d *folder) Len() int       { return d.count }

func (d *folder) Episode(ctx context.Context, i int) (*Episode, error) {
	if i < 0 || i >= d.count {
		return nil, &RangeError{What: "episode", Got: i, Len: d.count}
	}
	at, _ := slices.BinarySearchFunc(d.parts, i, func(p part, i int) int { return cmp.Compare(p.first+p.count, i+1) })
	p := &d.parts[at]
	f, err := d.take(ctx, p.path)
	if err != nil {
		return nil, err
	}
	defer d.give(f)
	e, err := f.Episode(ctx, i-p.first)
	if err != nil {
		return nil, err
	}
	if base := BaseName(p.path); e.Name == "" {
		e.Name = base
	} else if e.Name != base {
		e.Name = base + "/" + e.Name // files may have episodes of the same names
	}
	for k := range e.Media {
		e.Media[k].Source = &folderFrames{folder: d, path: p.path, episode: i - p.first, media: k, from: f, source: e.Media[k].Source}
	}
	return e, nil
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
