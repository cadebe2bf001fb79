package cpu

import (
	"math/bits"
	"slices"
)

// pointSort sorts points by key; points with equal keys keep their order. Each pass sorts by a few key bits: it counts the digits in
// each piece of the points, and then moves each piece's points to their places. Threads share the pieces. An entry is 32 key bits above
// the point's index. Longer keys are sorted by the lower 32 bits first, and then the entries get the upper bits.
type pointSort struct {
	backend  *Backend
	keys     []int64 // a key per point; negative keys are left out
	passes   []sortPass
	size     int // points per piece
	pass     sortPass
	from, to []uint64
	counts   []uint32 // by piece and digit: first the number of points, then the next point's place
	begins   []uint32 // the place of the current piece's next point for each digit; after the last piece, the ends
	first    task     // converts points to entries
	counting task
	moving   task
}

// sortPass sorts by width key bits from bit shift on. Entries hold the key bits from base on.
type sortPass struct{ shift, width, base int }

const (
	sortPiece = 1 << 13 // points: fewer are not worth a piece
	sortBits  = 12      // maximum bits per digit
	countLot  = 1 << 18 // bytes of a count grid that a thread fills together
)

// pointsAPiece returns the points per piece for n points.
func pointsAPiece(n, workers int) int {
	pieces := max(min(n/sortPiece, 4*workers), 1)
	return max((n+pieces-1)/pieces, 1)
}

// sortPasses returns the passes for keys below the given number. A digit has fewer values than a piece has points, because one thread
// computes the places for all digits.
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

// countPass returns the pass that groups points by ranges of cells. Each worker gets several ranges, and a range fits in its cache.
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

// pieces counts the pieces for n points.
func (s *pointSort) pieces(n int) int { return (n + s.size - 1) / s.size }

// piece returns the range of points in piece i.
func (s *pointSort) piece(i, n int) (lo, hi int) { return i * s.size, min((i+1)*s.size, n) }

// begin prepares for counting the first pass's digits.
func (s *pointSort) begin() {
	s.pass = s.passes[0]
	clear(s.counts)
}

// digits returns the counters in which the caller counts a piece's digits for the first pass. A key's digit is key>>shift & mask.
func (s *pointSort) digits(piece int) (counts []uint32, shift int, mask uint64) {
	return s.counted(piece), s.pass.shift, 1<<s.pass.width - 1
}

func (s *pointSort) counted(piece int) []uint32 {
	return s.counts[piece<<s.pass.width:][:1<<s.pass.width]
}

// places converts the pieces' counts to the places where their points go.
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

// rest finishes the sort after the first pass's digits are counted. n is the number of points with a key. It returns their entries.
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

// enter creates the entries for a piece of the points.
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

// count counts the digits for a piece of the entries. If the pass needs the upper key bits, it loads them into the entries first.
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

// pointOf returns an entry's point.
func pointOf(e uint64) int { return int(uint32(e)) }

// key returns the key of a sorted entry.
func (s *pointSort) key(e uint64) int64 {
	if s.pass.base > 0 {
		return s.keys[pointOf(e)]
	}
	return int64(e >> 32)
}

// bucket returns range i of the cells, lo to hi-1, and the entries of its points, after the single pass of a countPass. Entries hold
// the lower key bits.
func (s *pointSort) bucket(i, keys int) (lo, hi int, points []uint64) {
	begin := uint32(0)
	if i > 0 {
		begin = s.begins[i-1]
	}
	return min(i<<s.pass.shift, keys), min((i+1)<<s.pass.shift, keys), s.from[begin:s.begins[i]]
}

// sameKey counts the entries at the start that have the first entry's key.
func (s *pointSort) sameKey(entries []uint64) int {
	key := s.key(entries[0])
	if n := slices.IndexFunc(entries, func(e uint64) bool { return s.key(e) != key }); n > 0 {
		return n
	}
	return len(entries)
}
