package hevc

import (
	"encoding/binary"

	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// Parser turns a stream's packets into pictures, in decoding order. Calls must not overlap.
type Parser struct {
	lengthSize int // bytes in front of a NAL unit; 0 in annex B
	extra      int
	sets       parameterSets
	active     *sequence
	format     *picture.Format
	fresh      bool // the next key picture begins anew, and pictures before it are undecodable
	leads      bool // the last key picture began anew, so that its RASL pictures are undecodable
	anchor     int  // the order count from which the next pictures count
	store      store
}

// New returns a Parser. config is the body from an mp4's hvcC box if lengths precede the packets' NAL units, and nil for annex B.
// Surfaces are numbered from 0 to Format.Surfaces+extra-1, and anew for a new Format. A surface is not used again before extra later
// pictures were decoded, so that a caller can still copy a picture.
func New(config []byte, extra int) (*Parser, error) {
	p := &Parser{extra: extra, fresh: true}
	if len(config) > 0 {
		if err := p.configure(config); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// configure reads an HEVCDecoderConfigurationRecord (ISO/IEC 14496-15, 8.3.3.1).
func (p *Parser) configure(config []byte) error {
	const header = 23
	if len(config) < header {
		return short("HEVCDecoderConfigurationRecord", len(config))
	}
	if config[0] > 1 {
		return invalid("configurationVersion", int(config[0]))
	}
	p.lengthSize = 1 + int(config[21]&3)
	if p.lengthSize == 3 {
		return invalid("lengthSizeMinusOne", 2)
	}
	rest := config[header:]
	for range config[22] {
		if len(rest) < 3 {
			return short("numNalus", len(rest))
		}
		count := binary.BigEndian.Uint16(rest[1:])
		rest = rest[3:]
		for range count {
			end := 2
			if len(rest) >= end {
				end += int(binary.BigEndian.Uint16(rest))
			}
			if len(rest) < end {
				return short("nalUnitLength", end-2)
			}
			unit := rest[2:end]
			rest = rest[end:]
			h, err := readUnitHeader(unit)
			if err == nil {
				err = p.sets.read(unit, h)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Reset forgets the pictures, but not the parameter sets. Call it after a seek, and when packets are absent: a stream's order counts show
// a gap only if it is short.
func (p *Parser) Reset() {
	p.fresh = true
	p.store.clear()
}

// Parse returns a packet's picture, or nil if the packet has no slices. A packet is one access unit. If it has no NAL units, its picture
// was lost. After that, and after an error, pictures are undecodable up to the next key picture. An undecodable picture must be left out:
// its references are not valid.
func (p *Parser) Parse(packet []byte) (*picture.Picture, error) {
	a := access{data: make([]byte, 0, len(packet)+16)}
	empty := true
	for unit, whole := range bitstream.Units(packet, p.lengthSize) {
		empty = false
		err := invalid("nal_unit", len(unit))
		if whole {
			err = p.unit(unit, &a)
		}
		if err != nil {
			p.Reset()
			return nil, err
		}
	}
	if empty {
		p.Reset()
	}
	return a.finish(), nil
}

// access is an access unit: a picture's slices, while they are read.
type access struct {
	picture *picture.Picture
	first   segment
	address int // in the last segment
	intra   bool
	data    []byte
}

func (a *access) finish() *picture.Picture {
	if pic := a.picture; pic != nil {
		pic.Data = a.data
		pic.Params.Put(picture.DataSize, len(pic.Data))
		pic.Params.Put(picture.SliceCount, len(pic.Slices))
		pic.Params.PutFlag(picture.IsIntra, a.intra)
	}
	return a.picture
}

func (p *Parser) unit(unit []byte, a *access) error {
	h, err := readUnitHeader(unit)
	switch {
	case err != nil:
		return err
	case h.slice():
		return p.slice(unit, h, a)
	case h.kind == eosUnit || h.kind == eobUnit:
		p.fresh = true
	}
	return p.sets.read(unit, h)
}

func (p *Parser) slice(unit []byte, h unitHeader, a *access) error {
	s, err := p.sets.segment(unit, h)
	switch {
	case err != nil:
		return err
	case bitstream.HasHole(unit):
		return invalid("slice_segment_data", len(unit))
	case s.first != (a.picture == nil):
		return invalid("first_slice_segment_in_pic_flag", flag(s.first))
	case s.first:
		a.first = s
		a.intra = true
		if a.picture, err = p.begin(&s); err != nil {
			return err
		}
	case h != a.first.unitHeader:
		return invalid("nal_unit_type", h.kind)
	case s.pps != a.first.pps:
		return invalid("slice_pic_parameter_set_id", s.pps.id)
	case s.address <= a.address && !s.pps.tiles, len(a.picture.Slices) == maxSegments: // with tiles, addresses rise within a tile only
		return invalid("slice_segment_address", s.address)
	}
	a.address = s.address
	a.intra = a.intra && (s.intra || s.dependent)
	a.picture.Slices = append(a.picture.Slices, uint32(len(a.data)))
	a.data = append(append(a.data, 0, 0, 1), unit...)
	return nil
}

// begin returns a new picture for its first slice segment.
func (p *Parser) begin(s *segment) (*picture.Picture, error) {
	columns, rows, err := s.pps.tiling(s.sps)
	if err != nil {
		return nil, err
	}
	p.activate(s.sps)
	poc := nearest(p.anchor, s.lsb, s.sps.log2MaxPOC)
	p.fresh = p.fresh || p.store.has(poc) // a key picture is absent, which began the order counts anew
	if s.key() {
		if p.leads = p.fresh || s.kind < cra; p.leads {
			poc = s.lsb
			p.store.clear()
		}
		p.fresh = false
	}
	if s.anchor() {
		p.anchor = poc
	}
	refs := p.store.keep(s, poc)
	pic := &picture.Picture{Format: p.format, Hidden: s.hidden, Undecodable: p.fresh || refs.missing || s.rasl() && p.leads}
	pic.Params.Put(picture.WidthInMacroblocks, p.format.Width/16)
	pic.Params.Put(picture.HeightInMacroblocks, p.format.Height/16)
	pic.Params.PutFlag(picture.IsReference, true)
	parameters := pic.Params[picture.Codec:]
	s.sps.write(parameters, s.unitHeader)
	s.pps.write(parameters, s.sps, columns, rows)
	refs.write(parameters, s, &p.store, poc)
	pic.Params.Put(picture.Surface, p.store.add(s.sps, poc, !pic.Undecodable))
	return pic, nil
}

// activate makes a sequence the current one. If it changes, earlier pictures are no references.
func (p *Parser) activate(sps *sequence) {
	if sps == p.active {
		return
	}
	p.active, p.fresh = sps, true
	p.store.clear()
	if format := sps.format(); p.format == nil || *p.format != format {
		p.format = &format
		p.store.surfaces = make([]int, format.Surfaces+p.extra)
	}
}

// nearest returns the order count with the least significant bits lsb that is nearest to anchor.
func nearest(anchor, lsb, log2 int) int {
	difference := (lsb - anchor) & (1<<log2 - 1)
	if difference > 1<<log2/2 {
		difference -= 1 << log2
	}
	return anchor + difference
}
