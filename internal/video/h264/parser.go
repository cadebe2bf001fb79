package h264

import (
	"encoding/binary"
	"math"

	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// Parser makes the parameters of pictures from packets. It is not for concurrent use.
type Parser struct {
	lengthSize   int // bytes of a NAL unit's length; 0 in annex B
	sequenceSets [32]*sps
	pictureSets  [256]*pps
	active       *sps
	format       *picture.Format
	surfaces
	references
	order
	access
}

// New returns a Parser for a stream. config is the body of the container's avcC box, and nil if packets are in annex B. extra is the
// number of surfaces beyond Format.Surfaces: a picture's surface is not written to while the next extra pictures are decoded.
//
// Errors, here and from Parse: *picture.UnsupportedError, and *picture.InvalidError for damaged bytes.
func New(config []byte, extra int) (*Parser, error) {
	p := &Parser{surfaces: surfaces{extra: extra}}
	p.Reset()
	if config == nil {
		return p, nil
	}
	if err := p.configure(config); err != nil {
		return nil, err
	}
	return p, nil
}

// configure reads an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1).
func (p *Parser) configure(config []byte) error {
	const fixed = 5 // bytes before the number of sequence parameter sets
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
			if err := p.parameterSet(rest[:size]); err != nil {
				return err
			}
			rest = rest[size:]
		}
	}
	return nil
}

// Reset forgets the reference pictures, for a packet that does not follow the one before it. Parameter sets and surfaces remain.
func (p *Parser) Reset() {
	p.dpb = p.dpb[:0]
	p.order = order{}
	p.access = access{fresh: true, lost: true, target: none, bound: math.MinInt}
}

// Parse returns the picture in a packet, which is an access unit. The picture is nil if the packet has none, such as one with parameter
// sets only. The picture's memory is its own.
//
// A picture with missing references is Undecodable, but the decoder decodes it because later pictures may be built on its intact parts.
// After an error the following pictures are Undecodable until an IDR picture or a recovery point.
func (p *Parser) Parse(packet []byte) (*picture.Picture, error) {
	u := unit{parser: p}
	for nal, whole := range bitstream.Units(packet, p.lengthSize) {
		err := invalid("NALUnitLength", len(nal))
		if whole {
			err = u.add(nal)
		}
		if err != nil {
			p.Reset()
			return nil, err
		}
	}
	if u.picture == nil {
		return nil, nil
	}
	return u.finish(), nil
}

// parameterSet stores a parameter set. A damaged one removes the one that it replaces.
func (p *Parser) parameterSet(nal []byte) (err error) {
	id := 0
	switch nal[0] & 31 {
	case nalSPS:
		var s *sps
		id, s, err = parseSPS(nal)
		p.sequenceSets[id] = s
	case nalPPS:
		var s *pps
		id, s, err = parsePPS(nal)
		p.pictureSets[id] = s
	}
	return err
}

// activate makes a sequence parameter set the current one.
func (p *Parser) activate(s *sps, idr bool) {
	if p.active != nil && *p.active == *s {
		return
	}
	if p.active != nil && !idr {
		p.Reset() // the sequence's IDR picture is absent
	}
	p.active = s
	if f := s.format(); p.format == nil || *p.format != f {
		p.format = &f
		p.written = make([]int, f.Surfaces+p.extra)
	}
}

// surfaces chooses where pictures are decoded to.
type surfaces struct {
	extra   int
	written []int // when each surface was written to
	clock   int
}

// free returns the surface with the oldest picture of those that hold no reference.
func (p *Parser) free() int {
	best := none
	for i, when := range p.written {
		if (best == none || when < p.written[best]) && !p.holds(i) {
			best = i
		}
	}
	return best
}

// none is no surface, and no frame_num.
const none = -1
