package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/robocache/robocache/dataset/internal/listed"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/storage"
)

// openFolder opens a folder: a dataset of a format that has folders, or else files of one format, of which each has episodes. Other files in it are
// ignored, and so is text beside files of a format that is none.
func openFolder(ctx context.Context, path string, opt Options) (Dataset, error) {
	for _, f := range Formats() {
		if f.Folder != nil && f.Folder(path) {
			return f.Open(ctx, path, opt)
		}
	}
	entries, err := storage.ReadDir(ctx, path)
	if err != nil {
		return nil, err
	}
	files := sorting{ctx: ctx, path: path}
	for _, named := range []bool{false, true} {
		if err := files.sort(entries, named); err != nil {
			return nil, err
		}
		if len(files.found)+len(files.broken) > 0 {
			break // what only its name tells is one of the other files
		}
	}
	f, paths, err := files.chosen()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(paths, CompareNames)
	d := &folder{path: path, format: f, opt: opt, parts: make([]part, len(paths))}
	for i, file := range paths {
		d.parts[i].path = file
	}
	if err := d.index(ctx); err != nil {
		return nil, err
	}
	if others := files.ignored(paths); len(others) > 0 {
		if d.info.Attributes == nil {
			d.info.Attributes = map[string]string{}
		}
		d.info.Attributes["other files"] = listed.Names(others)
	}
	return d, nil
}

// sorting is the files of a folder by what they are.
type sorting struct {
	ctx     context.Context
	path    string
	formats map[string]Format
	found   map[string][]string // by the format's name
	broken  []string            // containers of which cannot be told what is inside
	rest    Format              // takes them
	others  []string            // of no format
	lost    []string            // that cannot be read, such as links to what is not there
	why     error               // the first of these cannot be read
	folder  string              // the first in it
	names   []string            // of all files
}

// ignored returns the names of the files that are none of some.
func (s *sorting) ignored(paths []string) (names []string) {
	taken := make(map[string]bool, len(paths))
	for _, path := range paths {
		taken[storage.Base(path)] = true
	}
	for _, name := range s.names {
		if !taken[name] {
			names = append(names, name)
		}
	}
	return names
}

// sort looks at each file: at what it holds, or with named at its name too.
func (s *sorting) sort(entries []storage.Info, named bool) error {
	s.formats, s.found = map[string]Format{}, map[string][]string{}
	s.broken, s.others, s.lost, s.why, s.folder, s.names = nil, nil, nil, nil, "", nil
	for i, found := range inorder.Each(s.ctx, len(entries), openers(s.path), openers(s.path), func(matched) int { return openers(s.path) }, func(ctx context.Context, i int) matched {
		return s.match(ctx, &entries[i], named)
	}) {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		entry, f, err := &entries[i], found.format, found.err
		if found.none {
			if entry.IsDir() && !hidden(entry) {
				s.folder = cmp.Or(s.folder, entry.Name)
			}
			continue
		}
		file := storage.Join(s.path, entry.Name)
		s.names = append(s.names, entry.Name)
		var bad *FormatError
		switch {
		case errors.As(err, &bad):
			if s.broken = append(s.broken, file); f.Open != nil {
				s.rest = f
			}
		case err != nil:
			s.lost, s.why = append(s.lost, file), cmp.Or(s.why, err)
		case found.ok:
			s.formats[f.Name] = f
			s.found[f.Name] = append(s.found[f.Name], file)
		default:
			s.others = append(s.others, file)
		}
	}
	return nil
}

// matched is what an entry of a folder is.
type matched struct {
	none   bool // no file, or hidden
	format Format
	ok     bool
	err    error
}

func hidden(entry *storage.Info) bool { return strings.HasPrefix(entry.Name, ".") }

func (s *sorting) match(ctx context.Context, entry *storage.Info, named bool) (m matched) {
	if link := entry.Mode&fs.ModeSymlink != 0; hidden(entry) || !link && !entry.IsRegular() {
		return matched{none: true}
	}
	file := storage.Join(s.path, entry.Name)
	head, err := beginning(ctx, file) // a link leads to nothing, which is the error
	if err != nil {
		return matched{err: err}
	}
	m.format, m.ok, m.err = match(file, head, named)
	return m
}

// openers is how many files of a folder are opened at a time: of an object store, where each takes long, several.
func openers(path string) int {
	if _, local := storage.Local(path); local {
		return 1
	}
	return 8
}

// chosen returns the one format of the folder, and its files: those of it, and those that seem to be and are broken, of which each costs itself.
func (s *sorting) chosen() (Format, []string, error) {
	recordings := maps.Clone(s.found)
	if maps.DeleteFunc(recordings, func(name string, _ []string) bool { return s.formats[name].Text }); len(recordings)+len(s.broken) > 0 {
		s.found = recordings
	}
	if len(s.found)+len(s.broken) == 0 && s.why != nil {
		return Format{}, nil, s.why
	}
	if len(s.found) > 1 || len(s.found) == 0 && s.rest.Open == nil {
		got := "a folder without a file of any that is known here"
		if s.folder != "" {
			got += fmt.Sprintf("; folders in it, such as %q, are not looked into", s.folder)
		}
		if len(s.found) > 1 {
			var list []string
			for _, name := range slices.Sorted(maps.Keys(s.found)) {
				list = append(list, fmt.Sprintf("%d of %s", len(s.found[name]), name))
			}
			got = "a folder with files of several: " + strings.Join(list, ", ")
		}
		return Format{}, nil, &FormatError{Format: "dataset", Path: s.path, Offset: -1, Kind: ErrUnsupported, Msg: "format", Got: got,
			Want: "files of one: " + known()}
	}
	f, files := s.rest, s.broken
	for name := range s.found {
		f, files = s.formats[name], append(s.found[name], s.broken...)
	}
	for _, file := range s.lost {
		if f.named(file) {
			files = append(files, file)
		}
	}
	for _, file := range s.others {
		if !f.named(file) {
			continue
		}
		if head, err := headOf(s.ctx, file); !f.Text || err != nil || len(head) == 0 || f.Named != nil && f.Named(head) {
			files = append(files, file)
		}
	}
	return f, files, nil
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
	tasks  map[string]int // where each is in info

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
	type opened struct {
		set Dataset
		err error
	}
	n := openers(d.path)
	ahead, stop := context.WithCancel(ctx)
	defer stop()
	var failed error // after which what was opened ahead is closed, and nothing more opened
	for i, o := range inorder.Each(ahead, len(d.parts), n, n, func(opened) int { return n }, func(ctx context.Context, i int) (o opened) {
		if o.err = ctx.Err(); o.err == nil {
			o.set, o.err = d.format.Open(ctx, d.parts[i].path, d.opt)
		}
		return o
	}) {
		if failed == nil {
			failed = d.add(ctx, &d.parts[i], o.set, o.err)
		}
		if o.err == nil {
			failed = cmp.Or(failed, o.set.Close())
		}
		if failed != nil {
			stop()
		}
	}
	if failed != nil {
		return failed
	}
	d.kind = cmp.Or(d.kind, d.format.Name)
	return nil
}

// add adds a file that was opened, or could not be.
func (d *folder) add(ctx context.Context, p *part, one Dataset, err error) error {
	p.first, p.count = d.count, 1
	switch {
	case errors.Is(err, ErrOption) || ctx.Err() != nil:
		return cmp.Or(err, ctx.Err())
	case err != nil && d.opt.Strict:
		return err
	case err != nil:
		d.info.Problems = append(d.info.Problems, Problem{storage.Base(p.path), err.Error()})
	default:
		p.count = one.Len()
		d.join(p, one)
	}
	d.count += p.count
	return nil
}

// join adds what a file says of itself. Of what files say differently, only the first's features and attributes that all have are the folder's.
func (d *folder) join(p *part, one Dataset) {
	info, base := one.Info(), storage.Base(p.path)
	info.Problems = slices.Clone(info.Problems)
	for i := range info.Problems {
		info.Problems[i].Where = base + ": " + info.Problems[i].Where
	}
	if d.kind == "" {
		before := d.info.Problems
		d.kind, d.info = one.Format(), info
		d.info.Problems = append(before, info.Problems...)
		d.info.Tasks, d.info.Splits, d.info.Attributes = nil, nil, maps.Clone(info.Attributes)
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
	}
	for _, task := range info.Tasks {
		if _, fresh := place(&d.tasks, task); fresh {
			d.info.Tasks = append(d.info.Tasks, task)
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

func (d *folder) Name() string   { return storage.Base(d.path) }
func (d *folder) Format() string { return d.kind }
func (d *folder) Len() int       { return d.count }

func (d *folder) Info() Info {
	info := d.info
	info.Tasks, info.Splits, info.Problems = slices.Clone(info.Tasks), slices.Clone(info.Splits), slices.Clone(info.Problems)
	info.Attributes = maps.Clone(info.Attributes)
	return info
}

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
	d.lasting(e, f, p.path, i-p.first)
	return e, nil
}

// CompareNames orders names as people do: numbers in them by their value, so that demo_2 comes before demo_10. It is 0 for equal names only.
func CompareNames(a, b string) int {
	whole, other := a, b
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
	return cmp.Or(len(a)-len(b), strings.Compare(whole, other))
}

// digits returns how many there are at the beginning.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
