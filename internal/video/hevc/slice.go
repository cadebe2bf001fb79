package hevc

import (
	"math"
	"math/bits"
)

// segment is a slice segment's header, up to the fields that describe its picture.
type segment struct {
	unitHeader
	pps              *pictureSet
	sps              *sequence
	first, dependent bool
	address          int
	intra, hidden    bool
	lsb              int // the order count's least significant bits
	set              *referenceSet
	setBits          int // length if the header has st_ref_pic_set
	long             []longReference
}

// segment reads slice_segment_header.
func (p *parameterSets) segment(unit []byte, h unitHeader) (s segment, err error) {
	r := newReader(unit)
	s.unitHeader, s.first = h, r.flag()
	if h.key() {
		r.Skip(1) // no_output_of_prior_pics_flag
	}
	id := r.unsigned("slice_pic_parameter_set_id", 63)
	if err := r.err("slice_segment_header"); err != nil {
		return s, err
	}
	if s.pps = p.pictures[id]; s.pps == nil {
		return s, invalid("slice_pic_parameter_set_id", id)
	}
	if s.sps = p.sequences[s.pps.sequence]; s.sps == nil {
		return s, invalid("pps_seq_parameter_set_id", s.pps.sequence)
	}
	if !s.first {
		s.dependent = s.pps.dependent && r.flag()
		columns, rows := s.sps.size()
		s.address = r.bits(bits.Len(uint(columns*rows - 1)))
		r.check("slice_segment_address", s.address, s.address > 0 && s.address < columns*rows)
	}
	if !s.dependent {
		r.slice(&s)
	}
	return s, r.err("slice_segment_header")
}

func (r *reader) slice(s *segment) {
	r.Skip(s.pps.extraBits)
	const intra = 2
	kind := r.unsigned("slice_type", intra)
	s.intra = kind == intra
	s.hidden = s.pps.outputFlag && !r.flag() // pic_output_flag
	s.set = &referenceSet{}
	if !s.idr() {
		s.lsb = r.bits(s.sps.log2MaxPOC)
		r.shortReferences(s, s.sps)
		if s.sps.longTerm {
			r.longReferences(s, s.sps)
		}
	}
	used := 0
	for _, ref := range s.set.references {
		used += flag(ref.used)
	}
	for _, ref := range s.long {
		used += flag(ref.used)
	}
	r.check("slice_type", kind, s.intra || used > 0 && !s.key())
	const lists = 8 // entries in a list for the decoder
	r.check("NumPocTotalCurr", used, used <= lists)
}

func (r *reader) shortReferences(s *segment, sps *sequence) {
	if count := len(sps.sets); !r.flag() { // short_term_ref_pic_set_sps_flag
		from := r.Pos()
		set := r.referenceSet(sps.sets, count, sps.maxDPB-1)
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
