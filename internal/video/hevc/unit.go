package hevc

import "github.com/robocache/robocache/internal/video/picture"

// NAL unit types.
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

const headerSize = 2 // bytes in front of a NAL unit's payload

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
	case h.layer > 0:
		return h, unsupported(picture.Layers, h.layer)
	}
	return h, nil
}

func (h unitHeader) slice() bool { return h.kind <= raslR || h.key() }
func (h unitHeader) key() bool   { return h.kind >= blaWLP && h.kind <= cra }
func (h unitHeader) idr() bool   { return h.kind == idrWRADL || h.kind == idrNLP }
func (h unitHeader) rasl() bool  { return h.kind == raslN || h.kind == raslR }

// anchor reports whether later pictures count their order from this one. It is in the lowest temporal layer, other pictures refer to it,
// and it does not lead a key picture.
func (h unitHeader) anchor() bool {
	const lastUnreferenced, radlN = 14, 6
	referenced := h.kind > lastUnreferenced || h.kind%2 == 1
	leading := h.kind >= radlN && h.kind <= raslR
	return h.temporal == 0 && referenced && !leading
}
