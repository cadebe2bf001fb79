package h264

import (
	"math"
	"slices"

	"github.com/robocache/robocache/internal/video/picture"
)

// buffer is the decoded picture buffer: its surfaces, its references, and the state between pictures.
type buffer struct {
	active  *sps
	format  *picture.Format
	extra   int   // surfaces for the caller, besides the format's
	written []int // clock at the last picture on each surface
	clock   int   // number of pictures
	references
	order
	access
	recoveries
}

// access is the state after random access, and after a loss.
type access struct {
	fresh  bool // the next picture follows no other
	lost   bool // references may be absent
	target int  // frame_num at the recovery point, which ends lost (section D.2.8), or none
	bound  int  // pictures with a smaller order count lead a recovery point
	cut    bool // references of these pictures may be absent
}

// recoveries counts recoveries from lost or damaged pictures. before is the value of ended before the last point.
type recoveries struct{ begun, ended, before int }

func (b *buffer) reset() {
	b.dpb = b.dpb[:0]
	b.order = order{}
	b.access = access{fresh: true, lost: true, target: none, bound: math.MinInt}
}

// activate makes a sequence parameter set the current one.
func (b *buffer) activate(s *sps, idr bool) {
	if b.active != nil && *b.active == *s {
		return
	}
	if b.active != nil && !idr {
		b.reset() // the sequence's IDR picture is absent
	}
	b.active = s
	if f := s.format(); b.format == nil || *b.format != f {
		b.format = &f
		b.written = make([]int, f.Surfaces+b.extra)
	}
}

// free returns the least recently written surface that holds no reference.
func (b *buffer) free() int {
	best := none
	for i, when := range b.written {
		if (best == none || when < b.written[best]) && !b.holds(i) {
			best = i
		}
	}
	return best
}

// precede completes the references before a picture. If the stream allows gaps in frame_num, frames that do not exist fill them (section
// 8.2.5.2). Otherwise a gap means that pictures were lost.
func (b *buffer) precede(h *header, s *sps) {
	mask := s.numMask()
	gap := (h.frameNum - b.lastReference - 1) & mask
	switch {
	case h.idr:
		b.reset()
		b.access = access{target: none, bound: math.MinInt}
	case b.fresh || gap == 0:
	case s.gapsAllowed && gap < mask:
		for i := min(gap, s.references); i > 0; i-- {
			num := (h.frameNum - i) & mask
			b.add(frame{surface: none, num: num}, num, mask, s.references)
			b.lastReference = num
		}
	default:
		b.reset()
	}
	if b.fresh {
		b.order = order{lastReference: (h.frameNum - 1) & mask, lastNum: h.frameNum, low: h.orderLow}
	}
}

// conceal adds foreign references for a picture after random access, because a decoder needs some. They are older than all other pictures
// in both orders.
func (b *buffer) conceal(h *header, s *sps, c counts) {
	const earlier = 1 << 20
	for i := min(s.references, s.numMask()); i > 0 && b.fresh; i-- {
		count := c.least() - earlier - i
		b.dpb = append(b.dpb, frame{surface: b.free(), num: (h.frameNum - i) & s.numMask(), foreign: true, counts: counts{count, count}})
	}
	b.fresh = false
}

// recover begins or ends a recovery, and returns the picture's Recoveries and After. Pictures after the recovery point, in output order,
// refer to none before it.
func (b *buffer) recover(h *header, s *sps, r *recovery, c counts) (begun, after int) {
	if r != nil && !h.idr && r.frames <= s.numMask() {
		if r.broken {
			b.lost, b.target = true, none
		}
		if b.target == none && r.exact {
			b.target = (h.frameNum + r.frames) & s.numMask()
			b.begun++
		}
	}
	if h.reference && h.frameNum == b.target {
		b.cut, b.lost, b.target, b.bound = b.lost, false, none, c.least()
		b.before, b.ended = b.ended, b.begun
	}
	if c.least() < b.bound {
		return b.before, b.before
	}
	return b.begun, b.ended
}

// leads reports whether a picture leads a recovery point, so that its references may be absent.
func (b *buffer) leads(c counts) bool { return b.cut && c.least() < b.bound }

// require sets lost, and ends a recovery, if a slice may refer to a frame that does not exist. After a recovery point a reference list
// may end with foreign frames, which the slice does not use. It begins with one only at the point. If others follow them, their places
// are uncertain, because the number of foreign frames is.
func (b *buffer) require(h *header, s *sps, c counts) {
	if b.lost || h.kind == sliceI || b.leads(c) {
		return
	}
	absent := func(f frame) bool { return f.surface == none }
	b.lost = len(b.dpb) == 0 || h.kind == sliceB && slices.ContainsFunc(b.dpb, absent)
	for i := range 1 + h.kind {
		foreign := false
		for j, f := range b.list(h, i, s.numMask(), c.least()) {
			b.lost = b.lost || absent(f) || f.foreign && j == 0 && c.least() > b.bound || foreign && !f.foreign
			foreign = f.foreign
		}
	}
	if b.lost {
		b.target = none
	}
}

// follow marks a decoded picture and those before it for the next picture.
func (b *buffer) follow(h *header, f frame) {
	if !h.reference {
		return
	}
	s := b.active
	long, reset := b.mark(h, s.numMask())
	b.lastReference = h.frameNum
	if reset {
		least := f.least()
		f.num, f.counts = 0, counts{f.counts[0] - least, f.counts[1] - least}
		b.order, b.bound = order{low: f.counts[0]}, math.MinInt
	}
	if long != none {
		f.num, f.long = long, true
	}
	b.add(f, h.frameNum, s.numMask(), s.references)
}
