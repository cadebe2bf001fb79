package hdf5

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

const maxRank = 32 // the format's limit

// space is an array's shape.
type space struct {
	shape []int
	most  []uint64 // each dimension's maximum size; none means unlimited
	empty bool     // there is no element, not even a scalar
}

// space reads a dataspace message.
func (c *cursor) space() space {
	var s space
	version := c.version(1, 2)
	rank, flags := c.u8(), c.u8()
	switch {
	case version == 1:
		c.skip(5)
	case c.u8() == 2:
		s.empty, rank = true, 0
	}
	if rank > maxRank {
		c.bad(2, dataset.ErrCorrupt, "dimensions", fmt.Sprint(rank), fmt.Sprintf("at most %d", maxRank))
		return s
	}
	s.shape = make([]int, rank)
	s.most = make([]uint64, rank)
	for i := range s.shape {
		d := c.length()
		if d > math.MaxInt {
			c.bad(c.lengths, dataset.ErrTooLarge, "dimension", fmt.Sprint(d), "a size that fits an int")
			return s
		}
		s.shape[i], s.most[i] = int(d), d
	}
	if flags&1 != 0 {
		for i := range s.most {
			if s.most[i] = c.length(); s.most[i] < uint64(s.shape[i]) {
				c.bad(c.lengths, dataset.ErrCorrupt, "most of a dimension", fmt.Sprint(s.most[i]), fmt.Sprintf("at least %d", s.shape[i]))
			}
		}
	}
	if c.err == nil {
		if _, err := tensor.NumElements(s.shape...); err != nil {
			c.bad(0, dataset.ErrTooLarge, "shape", tensor.FormatShape(s.shape), "at most 2^62 elements")
		}
	}
	if s.empty {
		s.shape = []int{0}
	}
	return s
}
