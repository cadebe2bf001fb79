package loader

import (
	"github.com/robocache/robocache/tensor"
)

// run reads episodes that follow each other in a store's file, from number e of those that are chosen on and at most so many, to where their rows begin: all at
// once, from the file and not through its mapping, which is several times as fast where the mapping's pages are not there yet, and leaves them out of
// the program's memory. It returns how many it has read. They are none where there is no such file, or an episode is not taken as it is packed; none
// too where something is wrong, of which reading them one by one tells.
func (w *shardReader) run(e, most int, to []target, at []int) int {
	c := w.s.chosen
	store, ok := c.from.(*Store)
	if !ok {
		return 0
	}
	number := c.numbers[e]
	file := store.holder(number)
	if file.file == nil {
		return 0
	}
	n := 0
	for n < most && c.seen[e+n].whole && c.numbers[e+n] == number+n && store.holder(number+n) == file {
		n++
	}
	first, shard := number, 0 // in the file
	if store.shards != nil {
		shard = shardAt(store.begins, number)
		first -= store.begins[shard]
	}
	for m := range c.parts {
		p, rows := &c.parts[m], int(c.parts[m].offsets[e+n]-c.parts[m].offsets[e])
		if rows == 0 {
			continue
		}
		s := file.Stream(p.from)
		if all := store.Stream(p.from); all != nil && all.shards != nil && all.shards[shard].at != nil {
			return 0 // its columns are in another order here
		}
		if s == nil || len(s.Columns) != p.width || s.DType() != p.packed || int(s.Offsets[first+n]-s.Offsets[first]) != rows {
			return 0
		}
		for _, t := range []struct {
			to   *tensor.Tensor
			name string
		}{{to[m].values, ".values"}, {to[m].times, ".times"}} {
			if t.to == nil {
				continue
			}
			dst, err := t.to.Slice(0, at[m], at[m]+rows)
			if err != nil || file.file.ReadRows(dst, s.Name+t.name, int(s.Offsets[first])) != nil {
				return 0
			}
		}
	}
	for k := range n {
		if !w.same(e, k, to, at) {
			return 0
		}
	}
	return n
}

// same reports whether an episode that was read, k behind the one whose rows begin there, has the timestamps that it had.
func (w *shardReader) same(e, k int, to []target, at []int) bool {
	c := w.s.chosen
	var times uint64
	for m := range c.parts {
		p := &c.parts[m]
		lo, hi := int(p.offsets[e+k]-p.offsets[e]), int(p.offsets[e+k+1]-p.offsets[e])
		if lo == hi {
			continue
		}
		stamps, err := to[p.clock].times.Slice(0, at[p.clock]+lo, at[p.clock]+hi)
		if err == nil {
			times, err = hashed(times, stamps)
		}
		if err != nil {
			return false
		}
	}
	return times == c.seen[e+k].times
}
