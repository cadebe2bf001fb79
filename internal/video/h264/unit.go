package h264

import (
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// unit is an access unit.
type unit struct {
	sets     *parameterSets
	buffer   *buffer
	recovery *recovery
	header   *header // the first slice's
	picture  *picture.Picture
	last     int // first_mb_in_slice in the last slice
	intra    bool
	surface  int
	counts
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
		if r := readRecovery(nal); r != nil {
			u.recovery = r
		}
	case nalLayer, nalDepthLayer:
		return unsupported(picture.Layers, kind)
	default:
		return u.sets.read(nal)
	}
	return nil
}

func (u *unit) slice(nal []byte) error {
	h, s, pic, err := u.sets.slice(nal)
	switch {
	case err != nil:
		return err
	case bitstream.HasHole(nal):
		return invalid("slice_data", len(nal))
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
	u.buffer.require(h, s, u.counts)
	u.picture.Slices = append(u.picture.Slices, uint32(len(u.picture.Data)))
	u.picture.Data = append(append(u.picture.Data, 0, 0, 1), nal...)
	return nil
}

// begin starts a slice's picture.
func (u *unit) begin(h *header, s *sps, pic *pps) {
	b := u.buffer
	b.activate(s, h.idr)
	b.precede(h, s)
	u.counts = b.count(h, s)
	b.conceal(h, s, u.counts)
	begun, after := b.recover(h, s, u.recovery, u.counts)
	u.header, u.intra, u.surface = h, true, b.free()
	u.picture = &picture.Picture{Format: b.format, Recoveries: begun, After: after}
	u.parameters(s, pic)
}

// finish completes the parameters, and marks the references for the next picture.
func (u *unit) finish() *picture.Picture {
	b := u.buffer
	params := &u.picture.Params
	params.Put(picture.DataSize, len(u.picture.Data))
	params.Put(picture.SliceCount, len(u.picture.Slices))
	params.PutFlag(picture.IsIntra, u.intra)
	u.picture.Undecodable = !u.intra && (b.lost || b.leads(u.counts))
	b.clock++
	b.written[u.surface] = b.clock
	b.follow(u.header, frame{surface: u.surface, num: u.header.frameNum, counts: u.counts})
	return u.picture
}
