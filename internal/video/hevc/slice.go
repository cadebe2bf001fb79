package hevc

import (
	"math"
	"math/bits"
)

// Types of NAL units.
const (
	raslN    = 8
	raslR    = 9
	blaWLP   = 16
	blaNLP   = 18
	idrWRADL = 19
	idrNLP   = 20
	cra      = 21
	spsUnit  = 33
	ppsUnit  = 34
	eosUnit  = 36
	eobUnit  = 37
)

const headerSize = 2 // bytes of a NAL unit's header

type unitHeader struct{ kind, layer, temporal int }

func readUnitHeader(unit []byte) (h unitHeader, err error) {
	if len(unit) < headerSize {
		return h, invalid("nal_unit_header", len(unit))
	}
	h = unitHeader{int(unit[0] >> 1 & 63), int(unit[0]&1)<<5 | int(unit[1]>>3), int(unit[1]&7) - 1}
	switch {
	case unit[0] >= 128:
		return h, invalid("forbidden_zero_bit", 1)
	case h.temporal < 0:
		return h, invalid("nuh_temporal_id_plus1", 0)
	}
	return h, nil
}

func (h unitHeader) slice() bool { return h.kind <= raslR || h.key() }
func (h unitHeader) key() bool   { return h.kind >= blaWLP && h.kind <= cra }
func (h unitHeader) idr() bool   { return h.kind == idrWRADL || h.kind == idrNLP }
func (h unitHeader) rasl() bool  { return h.kind == raslN || h.kind == raslR }

// anchor reports whether the order counts of later pictures begin from this one: it is in the lowest temporal layer, other pictures
// refer to it, and it does not lead a key picture.
func (h unitHeader) anchor() bool {
	const lastUnreferenced, radlN = 14, 6
	referenced := h.kind > lastUnreferenced || h.kind%2 == 1
	leading := h.kind >= radlN && h.kind <= raslR
	return h.temporal == 0 && referenced && !leading
}

// segment is the header of a slice segment, up to the fields that describe its picture.
type segment struct {
	first     bool
	dependent bool
	pps       int
	address   int
	intra     bool
	lsb       int
	set       *referenceSet
	setBits   int // of st_ref_pic_set in the header
	long      []longReference
}

// longReference is a long-term reference picture. If whole is false, the least significant bits of its order count identify it.
type longReference struct {
	lsb, cycles int // cycles of the least significant bits before the current picture's
	whole, used bool
}

// segment reads slice_segment_header. The parameter sets are chosen by the identifier in it.
func (p *Parser) segment(unit []byte, h unitHeader) (s segment, pps *pictureSet, sps *sequence, err error) {
	r := newReader(unit)
	s.first = r.flag()
	if h.key() {
		r.Skip(1) // no_output_of_prior_pics_flag
	}
	s.pps = r.unsigned("slice_pic_parameter_set_id", 63)
	if err := r.err("slice_segment_header"); err != nil {
		return s, nil, nil, err
	}
	if pps = p.pictures[s.pps]; pps == nil {
		return s, nil, nil, invalid("slice_pic_parameter_set_id", s.pps)
	}
	if sps = p.sequences[pps.sequence]; sps == nil {
		return s, nil, nil, invalid("pps_seq_parameter_set_id", pps.sequence)
	}
	if !s.first {
		s.dependent = pps.dependent && r.flag()
		columns, rows := sps.size()
		s.address = r.bits(bits.Len(uint(columns*rows - 1)))
		r.check("slice_segment_address", s.address, s.address > 0 && s.address < columns*rows)
	}
	if !s.dependent {
		r.slice(&s, h, pps, sps)
	}
	return s, pps, sps, r.err("slice_segment_header")
}

func (r *reader) slice(s *segment, h unitHeader, pps *pictureSet, sps *sequence) {
	r.Skip(pps.extraBits)
	const b, p, i = 0, 1, 2
	kind := r.unsigned("slice_type", i)
	s.intra = kind == i
	if pps.outputFlag {
		r.Skip(1)
	}
	s.set = &referenceSet{}
	if !h.idr() {
		s.lsb = r.bits(sps.log2MaxPOC)
		r.shortReferences(s, sps)
		if sps.longTerm {
			r.longReferences(s, sps)
		}
	}
	used := 0
	for _, ref := range s.set.references {
		used += flag(ref.used)
	}
	for _, ref := range s.long {
		used += flag(ref.used)
	}
	r.check("slice_type", kind, s.intra || used > 0 && !h.key())
	const lists = 8 // entries of a list in the decoder's parameters
	r.check("NumPocTotalCurr", used, used <= lists)
}

func (r *reader) shortReferences(s *segment, sps *sequence) {
	if count := len(sps.sets); !r.flag() { // short_term_ref_pic_set_sps_flag
		from := r.Pos()
		set := r.referenceSet(sps, count)
		s.set, s.setBits = &set, r.Pos()-from
	} else if i := r.bits(bits.Len(uint(max(count-1, 0)))); i < count {
		s.set = &sps.sets[i]
	} else {
		r.check("short_term_ref_pic_set_idx", i, false)
	}
}

func (r *reader) longReferences(s *segment, sps *sequence) {
	known, most, candidates := 0, sps.maxDPB-1-len(s.set.references), len(sps.longTerms)
	if candidates > 0 {
		known = r.unsigned("num_long_term_sps", min(candidates, most))
	}
	s.long = make([]longReference, known+r.unsigned("num_long_term_pics", most-known))
	cycles := 0
	for i := range s.long {
		ref := &s.long[i]
		if i >= known {
			ref.lsb, ref.used = r.bits(sps.log2MaxPOC), r.flag()
		} else if j := r.bits(bits.Len(uint(candidates - 1))); j < candidates {
			*ref = sps.longTerms[j]
		} else {
			r.check("lt_idx_sps", j, false)
		}
		if i == known {
			cycles = 0
		}
		if ref.whole = r.flag(); ref.whole {
			cycles += r.unsigned("delta_poc_msb_cycle_lt", math.MaxUint32)
		}
		ref.cycles = cycles
	}
}
