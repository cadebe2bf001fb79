package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/storage"
)

// folder is a dataset with the files and folders of one format. A few stay open: the most recently used.
type folder struct {
	path   string
	format Format
	opt    Options
	parts  []part
	count  int // episodes
	kind   string
	info   Info
	tasks  map[string]int // their indices in info

	mu     sync.Mutex
	open   []*shared // the last used is last
	held   bool      // by Hold
	closed bool
}

// part is a file or folder in a folder.
type part struct {
	path  string
	name  string // the name of its episode, or the prefix of its episodes' names
	first int    // index of its first episode
	count int
	bytes int64 // size of a file; 0 for a folder
}

// index opens each file once, to count its episodes and read its Info.
func (d *folder) index(ctx context.Context) error {
	type opened struct {
		set Dataset
		err error
	}
	n := storage.AtOnce(d.path)
	ahead, stop := context.WithCancel(ctx)
	defer stop()
	var failed error // after it, opened files are closed and no more are opened
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

// add adds a file that was opened, or the error.
func (d *folder) add(ctx context.Context, p *part, one Dataset, err error) error {
	err = StandIn(ctx, err, p.path)
	p.first, p.count = d.count, 1
	switch {
	case errors.Is(err, ErrOption) || IsFatal(err) || ctx.Err() != nil:
		return cmp.Or(err, ctx.Err())
	case err != nil && d.opt.Strict:
		return err
	case err != nil:
		d.info.Notes.Add(Note{Code: CodeUnreadable, Subject: storage.Base(p.path), Count: 1, Detail: Detail{Cause: err}})
	default:
		p.count = one.Len()
		d.join(p, one)
	}
	d.count += p.count
	return nil
}

// join merges a file's Info into the folder's. If files differ, the folder has the first file's features and the attributes that
// all share.
func (d *folder) join(p *part, one Dataset) {
	info, base := one.Info(), storage.Base(p.path)
	info.Notes = slices.Clone(info.Notes)
	for i := range info.Notes {
		n := &info.Notes[i]
		n.Subject = base + ": " + n.Subject
		if n.Code == CodeEpisodesAbsent {
			n.Cause = fmt.Errorf("%s: %w", base, n.Cause)
		}
	}
	if d.kind == "" {
		notes := d.info.Notes
		d.kind, d.info = one.Format(), info
		d.info.Notes = append(notes, info.Notes...)
		d.info.Tasks, d.info.Splits, d.info.Numbers, d.info.Attributes = nil, nil, nil, maps.Clone(info.Attributes)
	} else {
		if d.kind != one.Format() {
			d.kind = d.format.Name
		}
		if d.info.Rate != info.Rate || d.info.RateFrom != info.RateFrom {
			d.info.Rate, d.info.RateFrom = 0, ""
		}
		d.info.Frames += info.Frames
		d.info.Notes = append(d.info.Notes, info.Notes...)
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

// Weights returns each episode's share of its file, in bytes. Episodes in folders all weigh 1.
func (d *folder) Weights() []int64 {
	list := make([]int64, 0, d.count)
	for _, p := range d.parts {
		list = append(list, slices.Repeat([]int64{max(p.bytes/int64(max(p.count, 1)), 1)}, p.count)...)
	}
	return list
}

func (d *folder) Info() Info { return d.info.Clone() }

func (d *folder) Episode(ctx context.Context, i int) (_ *Episode, err error) {
	if i < 0 || i >= d.count {
		return nil, &RangeError{What: "episode", Got: i, Len: d.count}
	}
	at, _ := slices.BinarySearchFunc(d.parts, i, func(p part, i int) int { return cmp.Compare(p.first+p.count, i+1) })
	p := &d.parts[at]
	defer Guard(d.format.Name, p.path, &err)()
	f, err := d.take(ctx, p.path)
	if err != nil {
		return nil, err
	}
	defer d.give(f)
	e, err := f.Episode(ctx, i-p.first)
	if err != nil {
		return nil, StandIn(ctx, err, p.path)
	}
	if e.Name == "" {
		e.Name = p.name
	} else if e.Name != p.name {
		e.Name = p.name + "/" + e.Name // files may have episodes of the same names
	}
	d.lasting(e, f, p.path, i-p.first)
	return e, nil
}

// CompareNames orders names with numbers by their value, so demo_2 comes before demo_10. It returns a negative number, 0 or a
// positive one, like strings.Compare, and 0 only for equal names.
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

// digits returns the number of leading digits.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
