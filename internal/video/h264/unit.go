package h264

import (
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// Values of nal_unit_type.
const (
	nalSlice        = 1
	nalPartitionA   = 2
	nalPartitionC   = 4
	nalIDR          = 5
	nalSEI          = 6
	nalSPS          = 7
	nalPPS          = 8
	nalLayer        = 20
	nalDepthLayer   = 21
	seiRecovery     = 6
	profileExtended = 88
)

// unit is an access unit.
type unit struct {
	parser   *Parser
	recovery *recovery
	header   *header // of the first slice
	picture  *picture.Picture
	last     int // first_mb_in_slice of the last slice
	intra    bool
	surface  int
	counts
}

// recovery is a recovery point SEI message.
type recovery struct {
	frames int // recovery_frame_cnt
	exact  bool
	broken bool // broken_link_flag
}

func (u *unit) add(nal []byte) error {
	if nal[0]&0x80 != 0 {
		return invalid("forbidden_zero_bit", 1)
	}
	switch kind := int(nal[0] & 31); kind {
	case nalSlice, nalIDR:
		return u.slice(nal)
	case nalPartitionA, nalPartitionA + 1, nalPartitionC:
		return unsupported(picture.Profile, profileExtended)
	case nalSEI:
		u.message(nal)
	case nalLayer, nalDepthLayer:
		return unsupported(picture.Layers, kind)
	default:
		return u.parser.parameterSet(nal)
	}
	return nil
}

// message reads the recovery point in SEI messages, and ignores damage.
func (u *unit) message(nal []byte) {
	r := bitstream.NewReader(nal, 1)
	sum := func() (n int) {
		for {
			b := int(r.Bits(8))
			if n += b; b != 255 {
				return n
			}
		}
	}
	for r.Err() == nil {
		kind, size := sum(), sum()
		if kind == seiRecovery {
			point := recovery{frames: int(r.UE()), exact: r.Flag(), broken: r.Flag()}
			if r.Err() == nil {
				u.recovery = &point
			}
			return
		}
		r.Skip(8 * size)
	}
}

func (u *unit) slice(nal []byte) error {
	p := u.parser
	h, s, pic, err := p.parseSlice(nal)
	switch {
	case err != nil:
		return err
	case h.redundant:
		return nil
	case u.header == nil:
		u.begin(h, s, pic)
	case h.identity != u.header.identity:
		return invalid("slice_header", h.first) // another picture
	}
	if start := u.picture.Slices == nil; start != (h.first == 0) || h.first <= u.last && !start {
		if s.anyOrder {
			return unsupported(picture.SliceGroups, h.first)
		}
		return invalid("first_mb_in_slice", h.first)
	}
	u.last = h.first
	u.intra = u.intra && h.kind == sliceI
	p.require(h, s, u.counts)
	u.picture.Slices = append(u.picture.Slices, uint32(len(u.picture.Data)))
	u.picture.Data = append(append(u.picture.Data, 0, 0, 1), nal...)
	return nil
}

// begin starts the picture of a slice.
func (u *unit) begin(h *header, s *sps, pic *pps) {
	p := u.parser
	p.activate(s, h.idr)
	p.precede(h, s)
	u.counts = p.count(h, s)
	p.conceal(h, s, u.counts)
	p.recover(h, s, u.recovery, u.counts)
	u.header, u.intra, u.surface = h, true, p.free()
	u.picture = &picture.Picture{Format: p.format}
	u.parameters(s, pic)
}

// finish completes the parameters, and marks the references for the next picture.
func (u *unit) finish() *picture.Picture {
	p := u.parser
	params := &u.picture.Params
	params.Put(picture.DataSize, len(u.picture.Data))
	params.Put(picture.SliceCount, len(u.picture.Slices))
	params.PutFlag(picture.IsIntra, u.intra)
	u.picture.Undecodable = !u.intra && (p.lost || u.counts.least() < p.bound)
	p.clock++
	p.written[u.surface] = p.clock
	p.follow(u.header, frame{surface: u.surface, num: u.header.frameNum, counts: u.counts})
	return u.picture
}
