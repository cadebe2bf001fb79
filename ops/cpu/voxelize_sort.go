package cpu

import (
	"math/bits"
	"slices"
)

// pointSort brings points into the order of their keys, those of one key in their own, by a few bits of the key a pass: each pass counts
// how many points a piece of them has of each digit, and then moves every piece's points to their places. The pieces are shared out
// among the threads. An entry is 32 bits of a key over the number of the point. Keys of more bits are sorted by the lower ones, then
// their entries get the upper ones.
type pointSort struct {
	backend  *Backend
	keys     []int64 // of each point; negative ones are left out
	passes   []sortPass
	size     int // points a piece
	pass     sortPass
	from, to []uint64
	counts   []uint32 // by piece and digit: how many points, then where the next goes
	begins   []uint32 // where a digit's points of the piece in question go; after the last piece, where they end
	first    cpuTask  // moves points to entries
	counting cpuTask
	moving   cpuTask
}

// sortPass is width bits of the key, from bit shift on. Entries have its bits from `base` on.
type sortPass struct{ shift, width, base int }

const (
	sortPiece = 1 << 13 // points: fewer are not worth a piece
	sortBits  = 12      // of a digit, at most
	countLot  = 1 << 18 // bytes of a grid of counts that a thread fills at once
)

// pointsAPiece is how many of n points make a piece.
func pointsAPiece(n, workers int) int {
	pieces := max(min(n/sortPiece, 4*workers), 1)
	return max((n+pieces-1)/pieces, 1)
}

// sortPasses sorts points with keys below the given. A piece has more points than there are digits, whose places are not shared out.
func sortPasses(keys, piece int) (passes []sortPass) {
	most := min(max(bits.Len(uint(piece))-3, 6), sortBits)
	all := bits.Len64(uint64(max(keys-1, 0)))
	for base := 0; base < max(all, 1); base += 32 {
		here := min(all-base, 32)
		count := max((here+most-1)/most, 1)
		for i := range count {
			lo, hi := here*i/count, here*(i+1)/count
			passes = append(passes, sortPass{base + lo, hi - lo, base})
		}
	}
	return passes
}

// countPass brings the points together that share a range of the cells: some for each worker, and small enough for its cache.
func countPass(keys, size, workers int) sortPass {
	all := bits.Len64(uint64(max(keys-1, 0)))
	width := min(max(bits.Len(uint(keys*size/countLot)), bits.Len(uint(16*workers))), sortBits, all)
	return sortPass{all - width, width, 0}
}

func (s *pointSort) init(b *Backend, keys []int64, passes []sortPass) {
	s.backend, s.keys, s.passes = b, keys, passes
	s.size = pointsAPiece(len(keys), b.workers)
	width := 0
	for _, p := range passes {
		width = max(width, p.width)
	}
	s.counts = make([]uint32, max(s.pieces(len(keys)), 1)<<width)
	s.begins = make([]uint32, 1<<width)
	s.from = make([]uint64, len(keys))
	if len(passes) > 1 {
		s.to = make([]uint64, len(keys))
	}
	s.first.do, s.counting.do, s.moving.do = s.enter, s.count, s.move
}

// pieces is how many pieces n points make.
func (s *pointSort) pieces(n int) int { return (n + s.size - 1) / s.size }

// piece is where one of n points begins and ends.
func (s *pointSort) piece(i, n int) (lo, hi int) { return i * s.size, min((i+1)*s.size, n) }

// begin comes before digits of the first pass are counted.
func (s *pointSort) begin() {
	s.pass = s.passes[0]
	clear(s.counts)
}

// digits returns where the caller counts a piece's digits of the first pass: of a key, key>>shift & mask.
func (s *pointSort) digits(piece int) (counts []uint32, shift int, mask uint64) {
	return s.counted(piece), s.pass.shift, 1<<s.pass.width - 1
}

func (s *pointSort) counted(piece int) []uint32 {
	return s.counts[piece<<s.pass.width:][:1<<s.pass.width]
}

// places makes the counts of pieces the places where their points go.
func (s *pointSort) places(pieces int) {
	begins := s.begins[:1<<s.pass.width]
	clear(begins)
	for k := range pieces {
		for d, n := range s.counted(k) {
			begins[d] += n
		}
	}
	at := uint32(0)
	for d, n := range begins {
		begins[d] = at
		at += n
	}
	for k := range pieces {
		counts := s.counted(k)
		for d, n := range counts {
			counts[d] = begins[d]
			begins[d] += n
		}
	}
}

// rest sorts the points, n of which have a key, after the digits of the first pass are counted. It returns their entries.
func (s *pointSort) rest(n int) []uint64 {
	s.first.pieces = s.pieces(len(s.keys))
	s.places(s.first.pieces)
	s.backend.parallel(&s.first)
	s.counting.pieces = s.pieces(n)
	s.moving.pieces = s.counting.pieces
	full, spare := s.from, s.to
	for _, pass := range s.passes[1:] {
		s.pass, s.from, s.to = pass, full[:n], spare[:n]
		clear(s.counts)
		s.backend.parallel(&s.counting)
		s.places(s.moving.pieces)
		s.backend.parallel(&s.moving)
		full, spare = spare, full
	}
	s.from, s.to = full, spare
	return full[:n]
}

// enter makes entries of a piece of the points.
func (s *pointSort) enter(piece, _ int) {
	lo, hi := s.piece(piece, len(s.keys))
	at, shift, mask := s.digits(piece)
	for i, key := range s.keys[lo:hi] {
		if key >= 0 {
			k := &at[uint64(key)>>shift&mask]
			s.from[*k] = uint64(uint32(key>>s.pass.base))<<32 | uint64(lo+i)
			*k++
		}
	}
}

// count counts the digits of a piece of the entries, which get the bits of the key that the pass wants.
func (s *pointSort) count(piece, _ int) {
	lo, hi := s.piece(piece, len(s.from))
	counts, shift, mask := s.digits(piece)
	if s.pass.shift == s.pass.base && s.pass.base > 0 {
		for i, e := range s.from[lo:hi] {
			s.from[lo+i] = uint64(uint32(s.keys[pointOf(e)]>>s.pass.base))<<32 | uint64(uint32(e))
		}
	}
	shift += 32 - s.pass.base
	for _, e := range s.from[lo:hi] {
		counts[e>>shift&mask]++
	}
}

// move moves a piece of the entries to their places.
func (s *pointSort) move(piece, _ int) {
	lo, hi := s.piece(piece, len(s.from))
	at, shift, mask := s.digits(piece)
	shift += 32 - s.pass.base
	for _, e := range s.from[lo:hi] {
		k := &at[e>>shift&mask]
		s.to[*k] = e
		*k++
	}
}

// pointOf is the point of an entry.
func pointOf(e uint64) int { return int(uint32(e)) }

// key is the key of an entry that is sorted.
func (s *pointSort) key(e uint64) int64 {
	if s.pass.base > 0 {
		return s.keys[pointOf(e)]
	}
	return int64(e >> 32)
}

// bucket returns range number i of the cells, lo to hi, and the entries of its points, after the only pass of a countPass. Entries have
// the lower bits of the keys.
func (s *pointSort) bucket(i, keys int) (lo, hi int, points []uint64) {
	begin := uint32(0)
	if i > 0 {
		begin = s.begins[i-1]
	}
	return min(i<<s.pass.shift, keys), min((i+1)<<s.pass.shift, keys), s.from[begin:s.begins[i]]
}

// sameKey returns how many of the first entries have the key of the first.
func (s *pointSort) sameKey(entries []uint64) int {
	key := s.key(entries[0])
	if n := slices.IndexFunc(entries, func(e uint64) bool { return s.key(e) != key }); n > 0 {
		return n
	}
	return len(entries)
}
