package parquet

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// Values are rows of a column. The values of all rows stand one after the other in one of the lists: Float32 and Float64 of columns of that type,
// Float32 of float16 too, Int64 of whole numbers and truth values, Texts of texts.
type Values struct {
	Rows    int
	Width   int   // how many values a row has, if Lens is nil
	Lens    []int // how many values each row has, where that differs
	Float32 []float32
	Float64 []float64
	Int64   []int64
	Texts   []string
	Images  []Image // of a Writer; Column.Images reads them
	Nulls   []int   // which values are null, in order: NaN, 0 or empty
}

// Len returns the number of values.
func (v *Values) Len() int {
	return len(v.Float32) + len(v.Float64) + len(v.Int64) + len(v.Texts)
}

// Read appends rows [from,to) of a row group to v. What v has is of the same column.
func (c *Column) Read(ctx context.Context, group int, from, to int64, v *Values) error {
	if c.leaf == nil {
		return c.file.bad(dataset.ErrUnsupported, -1, "column "+c.Name, c.Type, "numbers or texts", nil)
	}
	return c.leaf.read(ctx, group, from, to, v)
}

func (l *leaf) read(ctx context.Context, group int, from, to int64, v *Values) error {
	if from >= to {
		return nil
	}
	m, err := l.load(group)
	if err != nil {
		return err
	}
	defer loads.Put(m)
	c, err := l.pagesOf(group, m)
	if err != nil {
		return err
	}
	first, row := c.locate(from)
	r := &rows{leaf: l, v: v, from: from, to: to, next: row, had: v.Rows, most: int(c.most), values: c.total}
	use := func(i int, p *prepared) (bool, error) {
		before := r.next
		if err := r.page(p); err != nil {
			return false, err
		}
		c.learn(i, r.next-before, len(p.reps) == 0 || p.reps[0] == 0)
		if v.Len() > r.most {
			return false, l.file.bad(dataset.ErrTooLarge, c.pages[i].at, "column "+l.name, fmt.Sprintf("%d values or more", v.Len()),
				fmt.Sprintf("at most %d at a time", r.most), nil)
		}
		return r.next < to || (r.next == to && !c.ends(i+1)), ctx.Err()
	}
	more := true
	if p := l.take(group, first); p != nil {
		if more, err = use(first, p); err == nil && !more {
			l.hold(group, first, p)
		} else {
			p.release()
		}
		first++
	}
	if more && err == nil {
		err = l.decode(group, m, c, first, true, use)
	}
	if err == nil && int64(v.Rows-r.had) != to-from {
		err = l.file.bad(dataset.ErrCorrupt, c.end, "column "+l.name, fmt.Sprintf("%d of rows %d to %d of row group %d", v.Rows-r.had, from, to,
			group), "all", nil)
	}
	return err
}

// rows takes rows [from,to) out of pages. Next is the number of the next row to begin, had how many rows v had.
type rows struct {
	leaf     *leaf
	v        *Values
	from, to int64
	next     int64
	had      int
	most     int
	values   int64 // how many values the row group has
}

// held is the page that was read last, for the rows that come next are often in it too.
type held struct {
	group, number int
	p             *prepared
}

// maxHeld is how many values a page may have that is held.
const maxHeld = 1 << 19

// hold keeps a page, which is no longer the caller's.
func (l *leaf) hold(group, number int, p *prepared) {
	if p.n > maxHeld || len(p.raw) > 8*maxHeld {
		p.release()
		return
	}
	l.mu.Lock()
	before := l.held
	l.held = held{group, number, p}
	l.mu.Unlock()
	if before.p != nil {
		before.p.release()
	}
}

// take returns the page that is held if it is that, and holds it no longer; else nil.
func (l *leaf) take(group, number int) *prepared {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.held.p
	if p == nil || l.held.group != group || l.held.number != number {
		return nil
	}
	l.held = held{}
	return p
}

// page takes what is wanted of a page.
func (r *rows) page(p *prepared) error {
	if p.n == 0 {
		return nil
	}
	if p.width == 0 {
		return r.slow(p)
	}
	count := int64(p.n / p.width)
	a, b := min(max(r.from-r.next, 0), count), min(max(r.to-r.next, 0), count)
	r.next += count
	if a < b {
		r.v.add(int(b-a), p.width)
		p.reserve(r.v, int(min((r.to-r.from)*int64(p.width), r.values, int64(r.most))))
		p.appendTo(r.v, int(a)*p.width, int(b)*p.width)
	}
	return nil
}

// regular returns how many values each row has, if all have as many and the first begins one; 0 if not.
func regular(reps []byte, n int) int {
	if len(reps) == 0 {
		return 1
	}
	count := bytes.Count(reps, []byte{0})
	if count == 0 || n%count != 0 {
		return 0
	}
	width := n / count
	for i := 0; i < n; i += width {
		if reps[i] != 0 {
			return 0
		}
	}
	return width
}

// slow goes value by value, for pages with nulls, or with rows of different lengths, or that begin within a row.
func (r *rows) slow(p *prepared) error {
	reps, defs, n := p.reps, p.defs, p.n
	full := byte(r.leaf.column.MaxDefinitionLevel())
	null := byte(255) // the level of a null that counts as a value; that of an empty list is another
	switch {
	case r.leaf.column.MaxRepetitionLevel() == 0:
		null = 0
	case r.leaf.column.Optional():
		null = full - 1
	}
	at := 0
	for i := range n {
		begins := len(reps) == 0 || reps[i] == 0
		if begins {
			r.next++
		}
		there := len(defs) == 0 || defs[i] == full
		wanted := r.next > r.from && r.next <= r.to
		value := there || defs[i] == null || null == 0
		if wanted {
			if begins {
				r.v.add(1, 0)
			} else if r.v.Rows == r.had {
				return r.leaf.file.bad(dataset.ErrCorrupt, -1, "page of "+r.leaf.name, "a value of no row", "one", nil)
			}
			if value {
				r.v.grow()
				if there {
					p.appendTo(r.v, at, at+1)
				} else {
					r.v.Nulls = append(r.v.Nulls, r.v.Len())
					p.appendNull(r.v)
				}
			}
		}
		if there {
			at++
		}
	}
	r.v.settle()
	return nil
}

// add notes n rows of so many values.
func (v *Values) add(n, width int) {
	switch {
	case v.Lens != nil:
	case v.Rows == 0 && width > 0:
		v.Width = width
		v.Rows = n
		return
	case v.Width == width:
		v.Rows += n
		return
	default:
		v.Lens = make([]int, v.Rows, v.Rows+n)
		for i := range v.Lens {
			v.Lens[i] = v.Width
		}
	}
	for range n {
		v.Lens = append(v.Lens, width)
	}
	v.Rows += n
}

// grow notes that the last row has one value more.
func (v *Values) grow() {
	if v.Lens == nil {
		v.Lens = make([]int, v.Rows)
		for i := range v.Lens {
			v.Lens[i] = v.Width
		}
	}
	v.Lens[v.Rows-1]++
}

// settle drops Lens where all rows are of one length.
func (v *Values) settle() {
	if len(v.Lens) == 0 {
		return
	}
	for _, n := range v.Lens {
		if n != v.Lens[0] || n == 0 {
			return
		}
	}
	v.Width, v.Lens = v.Lens[0], nil
}

// reserve makes room for n values, if v has none yet.
func (p *prepared) reserve(v *Values, n int) {
	switch {
	case v.Len() > 0:
	case p.kind == "float32":
		v.Float32 = slices.Grow(v.Float32, n)
	case p.kind == "float64":
		v.Float64 = slices.Grow(v.Float64, n)
	case p.kind != "float16" && p.kind != "string":
		v.Int64 = slices.Grow(v.Int64, n)
	}
}

func (p *prepared) appendNull(v *Values) {
	switch p.kind {
	case "float32", "float16":
		v.Float32 = append(v.Float32, float32(math.NaN()))
	case "float64":
		v.Float64 = append(v.Float64, math.NaN())
	case "string":
		v.Texts = append(v.Texts, "")
	default:
		v.Int64 = append(v.Int64, 0)
	}
}
