package parquet

import (
	"context"
	"fmt"

	"github.com/parquet-go/parquet-go"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
)

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
	use := func(i int, p *decodedPage) (bool, error) {
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

// rows collects rows [from,to) from pages. next is the next row to begin, and had is v's row count at the start.
type rows struct {
	leaf     *leaf
	v        *Values
	from, to int64
	next     int64
	had      int
	most     int
	values   int64 // values in the row group
}

// page appends a page's rows that are in the range.
func (r *rows) page(p *decodedPage) error {
	if p.n == 0 {
		return nil
	}
	if p.width == 0 || r.v.part != nil {
		return r.slow(p)
	}
	count := int64(p.n / p.width)
	a, b := min(max(r.from-r.next, 0), count), min(max(r.to-r.next, 0), count)
	r.next += count
	if a < b {
		room := min((r.to-r.from)*int64(p.width), r.values, int64(r.most))
		if r.v.Len() == 0 {
			if err := memory.Fits("column "+r.leaf.name, 8*room); err != nil {
				return err
			}
		}
		r.v.add(int(b-a), p.width)
		p.reserve(r.v, int(room))
		p.appendTo(r.v, int(a)*p.width, int(b)*p.width)
	}
	return nil
}

// slow processes a page value by value: pages with nulls, or with rows of different lengths, or that begin inside a row.
func (r *rows) slow(p *decodedPage) error {
	reps, defs, n := p.reps, p.defs, p.n
	full := byte(r.leaf.column.MaxDefinitionLevel())
	null := byte(255) // level of a null that counts as a value; an empty list has another
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
			if r.v.part != nil {
				r.v.part.add(reps[i], defs[i], p, at, there)
			} else if value {
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

// nulls returns the null rows in [from,to) for a column without lists.
func (l *leaf) nulls(ctx context.Context, group int, from, to int64) (list []int64, err error) {
	m, err := l.load(group)
	if err != nil {
		return nil, err
	}
	defer loads.Put(m)
	c, err := l.pagesOf(group, m)
	if err != nil {
		return nil, err
	}
	first, row := c.locate(from)
	full := byte(l.column.MaxDefinitionLevel())
	err = l.decode(group, m, c, first, false, func(_ int, p *decodedPage) (bool, error) {
		for i, d := range p.defs {
			if at := row + int64(i); d != full && at >= from && at < to {
				list = append(list, at)
			}
		}
		row += int64(p.n)
		return row < to, ctx.Err()
	})
	return list, err
}

// add adds a page's value or null to its row. If rep is 0, a new row begins.
func (l *listPart) add(rep, def byte, p *decodedPage, at int, there bool) {
	if rep == 0 {
		l.rows = append(l.rows, nil)
	}
	var x parquet.Value
	if there {
		v := Values{}
		p.appendTo(&v, at, at+1)
		switch p.kind {
		case "string":
			x = parquet.ValueOf(v.Texts[0])
		case "float32":
			x = parquet.ValueOf(v.Float32[0])
		case "float64":
			x = parquet.ValueOf(v.Float64[0])
		case "int32":
			x = parquet.ValueOf(int32(v.Int64[0]))
		case "bool":
			x = parquet.ValueOf(v.Int64[0] != 0)
		default:
			x = parquet.ValueOf(v.Int64[0])
		}
	}
	last := len(l.rows) - 1
	l.rows[last] = append(l.rows[last], x.Level(int(rep), int(def), l.leaf))
	l.values++
}
