package policy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// contents returns a hash of the samples that the policy takes, for each of some episodes by number. Copies of an episode have the same
// hash, under any name and number. A value that is not finite is a *StreamError with its position.
func (c *Config) contents(ctx context.Context, store *store.Store, numbers []int) (map[int]string, error) {
	p, err := c.parse()
	if err != nil {
		return nil, err
	}
	from := map[string]string{}
	for i := range p.Streams {
		from[p.Streams[i].Name] = p.Streams[i].Source()
	}
	all := map[int]string{}
	for i := range store.Episodes {
		n := store.Episodes[i].Number
		if !slices.Contains(numbers, n) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := store.Guard(func() error {
			e, _, err := store.Read(ctx, i)
			if err != nil {
				return err
			}
			sum := sha256.New()
			for _, s := range append(slices.Clone(c.States), c.Action) {
				if err := content(sum, e, e.Stream(from[s.Name]), s); err != nil {
					return err
				}
			}
			all[n] = hex.EncodeToString(sum.Sum(nil)[:16])
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// content adds the samples in a stream's columns to a hash. If the episode lacks the stream, it adds only the names.
func content(sum hash.Hash, e *dataset.Episode, s *dataset.Stream, takes Stream) error {
	fmt.Fprintf(sum, "%q %q ", takes.Name, takes.Columns)
	if s == nil {
		return nil
	}
	values, err := tensor.Floats(s.Values)
	if err != nil {
		return err
	}
	var columns []int
	for _, name := range takes.Columns {
		if at := s.Column(name); at >= 0 {
			columns = append(columns, at)
		}
	}
	times, width := s.Nanoseconds(), len(s.Columns)
	row := make([]byte, 0, 8*(len(columns)+1))
	for i, at := range times {
		row = binary.LittleEndian.AppendUint64(row[:0], uint64(at))
		for _, j := range columns {
			v := values[i*width+j]
			if !finite(v) {
				return &StreamError{takes.Name, fmt.Sprintf("%g in column %s of episode %s, row %d, %.3f s after its first", v, s.Columns[j].Name, e.Name, i, float64(at-times[0])/1e9),
					"finite values"}
			}
			row = binary.LittleEndian.AppendUint64(row, math.Float64bits(v))
		}
		sum.Write(row)
	}
	return nil
}

// Copies returns pairs of episode numbers: a held-out episode, and a training episode with the same samples. The skill on such a
// held-out episode proves nothing, because the policy was trained on its samples.
func (c *Config) Copies() (list [][2]int) {
	trained := map[string]int{}
	for _, n := range slices.Backward(c.Trained) {
		trained[c.Contents[n]] = n
	}
	for _, n := range c.HoldOut {
		if of, is := trained[c.Contents[n]]; is {
			list = append(list, [2]int{n, of})
		}
	}
	return list
}

// TrainedOn returns the numbers, among the given episodes of a store, that the policy was trained on. It compares hashes of the
// samples, so it also finds a training episode in a renamed dataset or under another number. A missing stream and a value that is
// not finite are a *StreamError.
func (p *Policy) TrainedOn(ctx context.Context, store *store.Store, numbers []int) ([]int, error) {
	c := p.config
	known := map[string]bool{}
	for _, n := range c.Trained {
		known[c.Contents[n]] = true
	}
	plan, err := c.parse()
	if err != nil {
		return nil, err
	}
	for i := range plan.Streams {
		if from := plan.Streams[i].Source(); store.Stream(from) == nil {
			return nil, &StreamError{from, "none in " + store.Name(), "one, as the policy was trained with"}
		}
	}
	all, err := c.contents(ctx, store, numbers)
	if err != nil {
		return nil, err
	}
	list := []int{}
	for _, n := range slices.Sorted(maps.Keys(all)) {
		if known[all[n]] {
			list = append(list, n)
		}
	}
	return list, nil
}

// numbersOf returns the numbers of the episodes that a loader draws from.
func numbersOf(l *loader.Loader) (list []int) {
	for e := range l.Report().Episodes {
		_, n := l.Known(int64(e))
		list = append(list, n)
	}
	return list
}
