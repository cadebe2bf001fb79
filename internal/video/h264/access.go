package h264

import (
	"math"
	"slices"
)

// access is the state of random access: which pictures have all their references.
type access struct {
	fresh  bool // the next picture follows no other
	lost   bool // references may be absent
	target int  // frame_num of the reference picture that ends lost (section D.2.8), or none
	bound  int  // pictures with a smaller order count lead a recovery point
}

// precede completes the references before a picture. A gap in frame_num is filled with frames that do not exist (section 8.2.5.2); where
// gaps are not allowed, pictures were lost.
func (p *Parser) precede(h *header, s *sps) {
	mask := s.numMask()
	gap := (h.frameNum - p.lastReference - 1) & mask
	switch {
	case h.idr:
		p.Reset()
		p.access = access{target: none, bound: math.MinInt}
	case p.fresh || gap == 0:
	case s.gapsAllowed && gap < mask:
		for i := min(gap, s.references); i > 0; i-- {
			num := (h.frameNum - i) & mask
			p.add(frame{surface: none, num: num}, num, mask, s.references)
		}
	default:
		p.Reset()
	}
	if p.fresh {
		p.order = order{lastReference: (h.frameNum - 1) & mask, lastNum: h.frameNum, low: h.orderLow}
	}
}

// conceal replaces the references of a picture that follows no other by surfaces with other content, because decoders need some. They
// are older than the picture in both orders.
func (p *Parser) conceal(h *header, s *sps, c counts) {
	for i := min(s.references, s.numMask()); i > 0 && p.fresh; i-- {
		p.dpb = append(p.dpb, frame{surface: p.free(), num: (h.frameNum - i) & s.numMask(), counts: counts{c[0] - 2*i, c[1] - 2*i}})
	}
	p.fresh = false
}

// recover begins or ends the recovery after random access. From the recovery point on, in output order, no picture refers to one before.
func (p *Parser) recover(h *header, s *sps, r *recovery, c counts) {
	if r != nil && !h.idr && r.frames <= s.numMask() {
		if r.broken {
			p.lost, p.target = true, none
		}
		if p.lost && p.target == none && r.exact {
			p.target = (h.frameNum + r.frames) & s.numMask()
		}
	}
	if p.lost && h.reference && h.frameNum == p.target {
		p.lost, p.target, p.bound = false, none, c.least()
	}
}

// require sets lost if a slice refers to a frame that does not exist.
func (p *Parser) require(h *header, s *sps, c counts) {
	if p.lost || h.kind == sliceI || c.least() < p.bound {
		return
	}
	used, named := p.dpb, true
	if h.kind == sliceP {
		used = p.list(h, s.numMask())
	}
	for i := range h.modifications {
		named = named && !slices.Contains(p.modified(h, i, s.numMask()), none)
	}
	absent := slices.ContainsFunc(used, func(f frame) bool { return f.surface == none })
	p.lost = absent || len(p.dpb) == 0 || !named && p.bound == math.MinInt
}

// follow marks a decoded picture and those before it for the next picture.
func (p *Parser) follow(h *header, f frame) {
	if !h.reference {
		return
	}
	s := p.active
	long, reset := p.mark(h, s.numMask())
	p.lastReference = h.frameNum
	if reset {
		least := f.least()
		f.num, f.counts = 0, counts{f.counts[0] - least, f.counts[1] - least}
		p.order, p.bound = order{low: f.counts[0]}, math.MinInt
	}
	if long != none {
		f.num, f.long = long, true
	}
	p.add(f, h.frameNum, s.numMask(), s.references)
}
