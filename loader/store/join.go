package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// openShards opens the folder of a sharded store. If a shard is missing, or differs from the others in its packing, the error is a
// *dataset.FormatError.
func openShards(path string) (s *Store, err error) {
	bad := errorsOf(path)
	names, err := shardNames(path)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, bad(dataset.ErrUnsupported, "folder", "no shard", "files such as "+ShardName(0, 8))
	}
	n := names[0].count
	there := map[int]bool{}
	for _, f := range names {
		if f.count != n || f.index >= n {
			return nil, bad(dataset.ErrCorrupt, "shards", names[0].name+" and "+f.name, "those from one packing")
		}
		there[f.index] = true
	}
	if len(names) < n {
		var missing []string
		for i := range n {
			if !there[i] {
				missing = append(missing, ShardName(i, n))
			}
		}
		return nil, bad(dataset.ErrNotFound, "shards", fmt.Sprintf("%d of %d", len(names), n), listNames(missing)+" too")
	}
	s = &Store{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
			s = nil
		}
	}()
	for i, f := range names {
		shard, err := openFile(storage.Join(path, f.name))
		if err != nil {
			return s, err
		}
		s.shards = append(s.shards, shard)
		if h := shard.Shard; h == nil || h.Index != i || h.Count != n {
			return s, bad(dataset.ErrCorrupt, f.name, "another shard", fmt.Sprintf("shard %d of %d", i, n))
		}
		if what, got, want := shard.shardDifference(s.shards[0]); what != "" {
			return s, bad(dataset.ErrCorrupt, f.name+": "+what, got, want+", as "+names[0].name+" has")
		}
	}
	s.join()
	asked := s.shards[0].Shard
	for _, name := range slices.Concat(asked.Streams, asked.Media, slices.Sorted(maps.Keys(asked.Frames))) {
		if s.Stream(name) == nil && s.MediaStream(name) == nil && name != AllMedia {
			return s, bad(dataset.ErrNotFound, "stream", "none called "+name+" in any shard", "a stream that an episode has")
		}
	}
	return s, nil
}

// firstDifference returns the first {name, got, want} in a list with different got and want; three empty texts if there is none.
func firstDifference(list [][3]string) (what, got, want string) {
	for _, c := range list {
		if c[1] != c[2] {
			return c[0], c[1], c[2]
		}
	}
	return "", "", ""
}

// listOr lists names; without names it returns none.
func listOr(names []string, none string) string {
	if len(names) == 0 {
		return none
	}
	return listNames(names)
}

// packingDifference returns the first packing option that differs between two shards; empty if there is none.
func (s *Store) packingDifference(other *Store) (what, got, want string) {
	a, b := s.Shard, other.Shard
	return firstDifference([][3]string{
		{"name", s.name, other.name},
		{"format", s.format, other.format},
		{"streams asked for", listOr(a.Streams, "all"), listOr(b.Streams, "all")},
		{"media asked for", listOr(a.Media, "none"), listOr(b.Media, "none")},
		{"frames asked for", listOr(sizes(a.Frames), "none"), listOr(sizes(b.Frames), "none")},
		{"dtype", a.DType, b.DType},
		{"strict", fmt.Sprint(a.Strict), fmt.Sprint(b.Strict)},
		{"episodes", cmp.Or(a.Selected, "all"), cmp.Or(b.Selected, "all")},
	})
}

// timingDifference returns the first difference in rate or clock; empty if there is none.
func (s *Store) timingDifference(other *Store) (what, got, want string) {
	return firstDifference([][3]string{
		{"rate", fmt.Sprint(s.info.Rate), fmt.Sprint(other.info.Rate)},
		{"clock", fmt.Sprintf("%q", s.info.Clock), fmt.Sprintf("%q", other.info.Clock)},
	})
}

// shardDifference returns the first difference between a shard's packing and the first shard's; empty if there is none.
func (s *Store) shardDifference(first *Store) (what, got, want string) {
	a, b := *s.Shard, *first.Shard
	if what, got, want = s.packingDifference(first); what != "" {
		return what, got, want
	}
	if what, got, want = s.timingDifference(first); what != "" {
		return what, got, want
	}
	what, got, want = firstDifference([][3]string{
		{"dataset episodes", fmt.Sprint(a.Episodes), fmt.Sprint(b.Episodes)},
		{"dataset files", fmt.Sprintf("%d, %s", a.Files, a.Listing), fmt.Sprintf("%d, %s", b.Files, b.Listing)},
	})
	if what != "" {
		return what, got, want
	}
	for i := range s.Streams {
		if got := s.Streams[i].DType().String(); got != a.DType {
			return "dtype of stream " + s.Streams[i].Name, got, a.DType
		}
	}
	a.Index = b.Index
	if other := (&Store{name: s.name, format: s.format, info: s.info, Shard: &a}); other.head() != first.head() {
		return "the dataset's metadata", "something", "the same"
	}
	return "", "", ""
}

// join makes the store from its shards. The shards' tensors stay in their files.
func (s *Store) join() {
	first := s.shards[0]
	s.name, s.format, s.info = first.name, first.format, first.info
	for _, shard := range s.shards {
		s.begins = append(s.begins, len(s.Episodes))
		s.Episodes = append(s.Episodes, shard.Episodes...)
		s.Skipped = append(s.Skipped, shard.Skipped...)
	}
	for j := range first.Shard.Files {
		s.Sources = append(s.Sources, s.shards[j%len(s.shards)].Sources[j/len(s.shards)])
	}
	for k, shard := range s.shards {
		for m := range shard.Streams {
			s.joinStream(k, &shard.Streams[m])
		}
		for m := range shard.Media {
			s.joinMedia(k, &shard.Media[m])
		}
	}
	for m := range s.Streams {
		p := &s.Streams[m]
		p.Offsets = s.offsets(func(k int) []int64 {
			if p.shards[k] == nil {
				return nil
			}
			return p.shards[k].Offsets
		})
	}
	for i := range s.Media {
		m := &s.Media[i]
		m.Offsets = s.offsets(func(k int) []int64 {
			if m.shards[k] == nil {
				return nil
			}
			return m.shards[k].Offsets
		})
	}
}

// joinStream adds a shard's stream.
func (s *Store) joinStream(shard int, p *Stream) {
	to := s.Stream(p.Name)
	switch {
	case to == nil && s.MediaStream(p.Name) != nil:
		s.leaveOut(shard, p.Name, p.Offsets, nameOfMedia)
		return
	case to == nil:
		s.Streams = append(s.Streams, Stream{Name: p.Name, Columns: p.Columns, shards: make([]*Stream, len(s.shards)), begins: s.begins})
		to = &s.Streams[len(s.Streams)-1]
	default:
		f, why := fit(to.Columns, p.Columns, false)
		if why.Code != "" {
			s.leaveOut(shard, p.Name, p.Offsets, why)
			return
		}
		if f.at != nil {
			in := *p
			in.at, p = f.at, &in
		}
		s.eachWith(shard, p.Offsets, func(e *Episode, _ int) { e.differ(p.Name, f.differs) })
	}
	to.shards[shard] = p
	to.Rounded += p.Rounded
	to.Overflowed += p.Overflowed
	to.Inexact += p.Inexact
}

// joinMedia adds a shard's media stream.
func (s *Store) joinMedia(shard int, m *Media) {
	to := s.MediaStream(m.Name)
	switch {
	case to == nil && s.Stream(m.Name) != nil:
		s.leaveOut(shard, m.Name, m.Offsets, nameOfStream)
		return
	case to == nil:
		s.Media = append(s.Media, Media{
			Name: m.Name, Encoding: m.Encoding, Width: m.Width, Height: m.Height, Resized: m.Resized, shards: make([]*Media, len(s.shards)), begins: s.begins,
		})
		to = &s.Media[len(s.Media)-1]
	default:
		if why := to.difference(m.Encoding, m.Width, m.Height); why.Code != "" {
			s.leaveOut(shard, m.Name, m.Offsets, why)
			return
		}
	}
	to.shards[shard] = m
}

// leaveOut adds a note to a shard's episodes that have a stream's samples.
func (s *Store) leaveOut(shard int, name string, offsets []int64, why dataset.Note) {
	why.Subject = name
	s.eachWith(shard, offsets, func(e *Episode, count int) {
		why.Count = count
		e.Notes = append(slices.Clone(e.Notes), why)
	})
}

// eachWith calls do for a shard's episodes that have samples, by the stream's offsets in the shard.
func (s *Store) eachWith(shard int, offsets []int64, do func(e *Episode, count int)) {
	for i := range s.shards[shard].Episodes {
		if offsets[i] < offsets[i+1] {
			do(&s.Episodes[s.begins[shard]+i], int(offsets[i+1]-offsets[i]))
		}
	}
}

// offsets returns the episode offsets over all shards, from each shard's offsets; those are nil if the shard lacks the stream.
func (s *Store) offsets(of func(shard int) []int64) []int64 {
	list := make([]int64, 1, len(s.Episodes)+1)
	for k, shard := range s.shards {
		begin, from := list[len(list)-1], of(k)
		for i := range shard.Episodes {
			at := begin
			if from != nil {
				at += from[i+1]
			}
			list = append(list, at)
		}
	}
	return list
}

// Open opens a store by Save or Pack. It reads and checks the header, and maps the rest into memory. If the file is a URL, or if
// the system cannot map files, it reads everything. A file that is no store, or is inconsistent, is a *dataset.FormatError. Close
// the store when done.
//
// A folder is a store in several files by PackShard. All files must exist and come from one packing. Otherwise the error is a
// *dataset.FormatError with the file's name and ErrNotFound or ErrCorrupt. Nothing is copied. The store has the same episodes as
// one file, in the dataset's order. A stream has the columns of the first shard that has it. If a later shard has it with other
// columns, the stream is left out of that shard's episodes.
func Open(path string) (*Store, error) {
	switch info, err := storage.Stat(context.Background(), path); {
	case dataset.IsSystem(err):
		return nil, err
	case err == nil && info.IsDir():
		return openShards(path)
	}
	return openFile(path)
}
