package hevc

import (
	"math"
	"math/bits"
)

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

// segment reads slice_segment_header, and returns the parameter sets to which it refers.
func (p *parameterSets) segment(unit []byte, h unitHeader) (s segment, pps *pictureSet, sps *sequence, err error) {
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
