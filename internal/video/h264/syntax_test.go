package h264

import (
	"math/bits"

	"github.com/robocache/robocache/internal/video/picture"
)

// writer writes the bits of a NAL unit.
type writer struct {
	b []byte
	n int // bits
}

func (w *writer) u(n int, v int) {
	for n--; n >= 0; n-- {
		if w.n%8 == 0 {
			w.b = append(w.b, 0)
		}
		w.b[w.n/8] |= byte(v>>n&1) << (7 - w.n%8)
		w.n++
	}
}

func (w *writer) flag(v bool) {
	if v {
		w.u(1, 1)
	} else {
		w.u(1, 0)
	}
}

func (w *writer) ue(values ...int) {
	for _, v := range values {
		n := bits.Len(uint(v + 1))
		w.u(n-1, 0)
		w.u(n, v+1)
	}
}

func (w *writer) se(values ...int) {
	for _, v := range values {
		if v > 0 {
			w.ue(2*v - 1)
		} else {
			w.ue(-2 * v)
		}
	}
}

// nal ends the payload and returns the NAL unit with emulation prevention bytes.
func (w *writer) nal(first byte) []byte {
	w.u(1, 1)
	unit, zeros := []byte{first}, 0
	for _, b := range w.b {
		if zeros == 2 && b <= 3 {
			unit, zeros = append(unit, 3), 0
		}
		if zeros++; b != 0 {
			zeros = 0
		}
		unit = append(unit, b)
	}
	return unit
}

func annexB(nals ...[]byte) (packet []byte) {
	for _, n := range nals {
		packet = append(append(packet, 0, 0, 0, 1), n...)
	}
	return packet
}

// sets are the parameter sets of a small stream of 4 x 3 macroblocks. frame_num has 4 bits, and so has pic_order_cnt_lsb.
type sets struct {
	sps
	pps
	chroma, depth int  // chroma_format_idc, bits
	field, mbaff  bool // field_pic_flag, mb_adaptive_frame_field_flag
	vui           func(*writer)
}

func newSets(references int) *sets {
	return &sets{
		sps{frameNumBits: 4, orderBits: 4, references: references, width: 4, height: 3, frameOnly: true, direct8x8: true, colour: [3]uint8{2, 2, 2}},
		pps{active: [2]int{references, references}, transform8x8: true},
		1, 8, false, false, nil,
	}
}

func writeLists(w *writer, m *scaling, lists int) {
	if w.flag(m.present); !m.present {
		return
	}
	for i := range lists {
		w.flag(m.lists[i] != inferred)
		switch m.lists[i] {
		case standard:
			w.se(-8)
		case explicit:
			last := 8
			for _, v := range m.sent[i][:listSize(i)] {
				w.se(int(int8(int(v) - last)))
				last = int(v)
			}
		}
	}
}

func (s *sets) packet() []byte { return annexB(s.sequence(100), s.picture()) }

func (s *sets) sequence(profile int) []byte {
	w := &writer{}
	w.u(8, profile)
	w.u(8, 0)
	w.u(8, 30)
	w.ue(0)
	if profile >= 100 {
		w.ue(s.chroma, s.depth-8, s.depth-8)
		w.u(1, 0)
		writeLists(w, &s.sps.scaling, 8)
	}
	w.ue(s.frameNumBits-4, s.orderType)
	switch s.orderType {
	case 0:
		w.ue(s.orderBits - 4)
	case 1:
		w.flag(s.deltaZero)
		w.se(s.offsetNonRef, s.offsetBottom)
		w.ue(s.cycle)
		for _, o := range s.offsets[:min(s.cycle, len(s.offsets))] {
			w.se(int(o))
		}
	}
	w.ue(s.references)
	w.flag(s.gapsAllowed)
	w.ue(s.width-1, s.height-1)
	if w.flag(s.frameOnly); !s.frameOnly {
		w.flag(s.mbaff)
	}
	w.flag(s.direct8x8)
	w.u(1, 0)
	if w.flag(s.vui != nil); s.vui != nil {
		s.vui(w)
	}
	return w.nal(0x67)
}

func (s *sets) picture() []byte {
	w := &writer{}
	w.ue(0, 0)
	w.flag(s.cabac)
	w.flag(s.orderPresent)
	w.ue(0, s.active[0]-1, s.active[1]-1)
	w.flag(s.weighted)
	w.u(2, s.weightedBi)
	w.se(s.qp, s.qs, s.chromaQP[0])
	w.flag(s.deblocking)
	w.flag(s.constrainedIntra)
	w.flag(s.redundant)
	w.flag(s.transform8x8)
	writeLists(w, &s.pps.scaling, 6+2*map[bool]int{true: 1}[s.transform8x8])
	w.se(s.chromaQP[1])
	return w.nal(0x68)
}

// slice returns a slice with a header and a few bits. The reference lists have the default lengths.
func (s *sets) slice(h header) []byte {
	w := &writer{}
	w.ue(h.first, h.kind, h.pps)
	w.u(s.frameNumBits, h.frameNum&s.numMask())
	if !s.frameOnly {
		w.flag(s.field)
	}
	if h.idr {
		w.ue(h.idrID)
	}
	switch {
	case s.orderType == 0:
		w.u(s.orderBits, h.orderLow&(1<<s.orderBits-1))
		if s.orderPresent {
			w.se(h.delta[1])
		}
	case s.orderType == 1 && !s.deltaZero:
		w.se(h.delta[0])
		if s.orderPresent {
			w.se(h.delta[1])
		}
	}
	if s.redundant {
		w.ue(map[bool]int{true: 1}[h.redundant])
	}
	if h.kind == sliceB {
		w.u(1, 1)
	}
	if h.kind != sliceI {
		w.u(1, 0)
		for _, list := range h.modifications[:min(2, 1+h.kind)] {
			if w.flag(list != nil); list != nil {
				for _, m := range list {
					w.ue(m.code, m.operand)
				}
				w.ue(3)
			}
		}
	}
	if h.kind == sliceP && s.weighted || h.kind == sliceB && s.weightedBi == 1 {
		w.ue(5, 6)
		for list := range 1 + h.kind {
			for i := range s.active[list] {
				if w.flag(i%2 == 0); i%2 == 0 {
					w.se(-128, 127)
				}
				if w.flag(i < 2); i < 2 {
					w.se(1, -2, 33, -44)
				}
			}
		}
	}
	kind := byte(nalSlice)
	switch {
	case h.idr:
		kind = nalIDR
		w.u(1, 0)
		w.flag(h.longTerm)
	case h.reference:
		w.flag(h.marking != nil)
		for _, o := range h.marking {
			w.ue(o.code)
			if o.code <= 4 {
				w.ue(o.operand)
			}
			if o.code == 3 || o.code == 6 {
				w.ue(o.long)
			}
		}
		if h.marking != nil {
			w.ue(0)
		}
	}
	w.u(16, 0xaaaa)
	if h.reference {
		kind |= 0x60
	}
	return w.nal(kind)
}

// recoveryMessage returns a SEI NAL unit with another message and a recovery point.
func recoveryMessage(r recovery) []byte {
	payload := &writer{}
	payload.ue(r.frames)
	payload.flag(r.exact)
	payload.flag(r.broken)
	payload.u(2, 0)
	body := payload.nal(0)[1:]
	w := &writer{}
	w.u(8, 255)
	w.u(8, 5)
	w.u(8, 2)
	w.u(16, 0xffff)
	w.u(8, seiRecovery)
	w.u(8, len(body))
	for _, b := range body {
		w.u(8, int(b))
	}
	return w.nal(nalSEI)
}

// entriesOf returns a picture's references: the surface, or none; frame_num or LongTermFrameIdx; whether it is a long-term one; the order
// count.
func entriesOf(p *picture.Picture) (list []reference) {
	for i := range mostReferences {
		at := picture.Codec + entries + i*entrySize
		if p.Params.Int(at+entryUsed) == 3 {
			list = append(list, reference{p.Params.Int(at + entrySurface), p.Params.Int(at + entryNum), p.Params.Int(at + entryLong), p.Params.Int(at + entryCounts)})
		}
	}
	return list
}
