package h264

import (
	"encoding/binary"

	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// Parser makes pictures from packets in decoding order. It is not for concurrent use.
type Parser struct {
	lengthSize int // bytes before a NAL unit; 0 in annex B
	sets       parameterSets
	buffer     buffer
}

// New returns a Parser for a stream. config is the body from the container's avcC box, or nil if packets are in annex B. Surfaces are
// numbered from 0 to Format.Surfaces+extra-1, and anew for a new Format. A picture's surface is not used again while the next extra
// pictures are decoded, so that a caller can still copy it.
//
// Errors are *picture.UnsupportedError, and *picture.InvalidError for damaged bytes, here and from Parse.
func New(config []byte, extra int) (*Parser, error) {
	p := &Parser{buffer: buffer{extra: extra}}
	p.Reset()
	if config != nil {
		if err := p.configure(config); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// configure reads an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1).
func (p *Parser) configure(config []byte) error {
	const fixed = 5 // bytes before the sequence parameter sets
	short := invalid("AVCDecoderConfigurationRecord", len(config))
	if len(config) <= fixed || config[0] != 1 {
		return short
	}
	p.lengthSize = 1 + int(config[4]&3)
	rest := config[fixed:]
	for _, mask := range []byte{31, 255} {
		if len(rest) == 0 {
			return short
		}
		count := rest[0] & mask
		rest = rest[1:]
		for range count {
			if len(rest) < 2 {
				return short
			}
			size := int(binary.BigEndian.Uint16(rest))
			if rest = rest[2:]; size == 0 || size > len(rest) {
				return short
			}
			if err := p.sets.read(rest[:size]); err != nil {
				return err
			}
			rest = rest[size:]
		}
	}
	return nil
}

// Reset forgets the reference pictures. Call it after a seek, and if packets are absent. Parameter sets and surfaces remain.
func (p *Parser) Reset() { p.buffer.reset() }

// Parse returns the picture in a packet, or nil if the packet has no slices. A packet is one access unit. If it has no NAL units, its
// picture was lost.
//
// An Undecodable picture must be decoded too, because with intra refresh later pictures are built on its intact parts. After a seek, an
// error or a gap in frame_num, pictures with references are Undecodable until an IDR picture or a recovery point that is exact. They are
// also Undecodable if they lead that point, for example in an open group.
func (p *Parser) Parse(packet []byte) (*picture.Picture, error) {
	u := unit{sets: &p.sets, buffer: &p.buffer}
	empty := true
	for nal, whole := range bitstream.Units(packet, p.lengthSize) {
		empty = false
		err := invalid("NALUnitLength", len(nal))
		if whole {
			err = u.add(nal)
		}
		if err != nil {
			p.Reset()
			return nil, err
		}
	}
	if empty {
		p.Reset()
	}
	if u.picture == nil {
		return nil, nil
	}
	return u.finish(), nil
}
