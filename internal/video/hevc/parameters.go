package hevc

import "encoding/binary"

// Offsets in the codec's parameters. Values are bytes, except uint16 for tile sizes, and int32 before blockSizes and from setBits to
// slotCounts.
const (
	blockSizes   = 8 // then the sequence's other values
	keyPicture   = 30
	pictureTools = 48
	columnSizes  = 80
	rowSizes     = 122
	setBits      = 224 // then picture counts, and the picture order count
	slotSurfaces = 252
	slotCounts   = 316
	slotLongTerm = 380
	slotLists    = 396 // before, after, long-term: 8 bytes each
	factors      = 484
)

const tileSizes = 21 // entries at columnSizes and at rowSizes

// put writes bytes: numbers modulo 256, and flags as 1 or 0.
func put(b []byte, values ...any) {
	for i, v := range values {
		switch v := v.(type) {
		case int:
			b[i] = byte(v)
		case bool:
			b[i] = byte(flag(v))
		}
	}
}

func putInts(b []byte, values ...int) {
	for i, v := range values {
		binary.NativeEndian.PutUint32(b[4*i:], uint32(int32(v)))
	}
}

func (s *sequence) write(b []byte, h unitHeader) {
	putInts(b, s.width, s.height)
	pcm := [...]int{0, 0, 0, 0}
	if s.pcm {
		pcm = [...]int{s.pcmLog2Min - 3, s.pcmLog2Diff, s.pcmBits - 1, s.pcmBitsChroma - 1}
	}
	put(b[blockSizes:],
		s.log2MinBlock-3, s.log2DiffBlock, s.log2MinTrans-2, s.log2DiffTrans,
		s.pcm, pcm[0], pcm[1], pcm[2], pcm[3], s.pcmUnfiltered,
		s.strongIntra, s.depthIntra, s.depthInter, s.amp, false, s.log2MaxPOC-4,
		len(s.sets), s.longTerm, len(s.longTerms), s.temporalMVP, s.sao, s.scaling,
		h.key(), h.idr(), s.bits-8, s.bits-8)
}

func (s *pictureSet) write(b []byte, seq *sequence, columns, rows []int) {
	put(b[pictureTools:],
		s.dependent, s.headerExtension, s.signHiding, s.qpDelta, s.qpDepth, s.initQP, s.cb, s.cr,
		s.constrainedIntra, s.weighted, s.biweighted, s.transformSkip, s.transquantBypass, s.synchronised, s.log2Merge-2, s.extraBits,
		s.acrossTiles, s.acrossSlices, s.outputFlag, s.active[0], s.active[1], s.listsModification, s.cabacInit, s.sliceChroma,
		s.deblockOverride, s.deblockDisabled, s.beta, s.tc, s.tiles, s.uniform, len(columns)-1, len(rows)-1)
	if s.tiles {
		putTiles(b[columnSizes:], columns)
		putTiles(b[rowSizes:], rows)
	}
	lists := seq.lists
	if seq.scaling && s.lists != nil {
		lists = s.lists
	}
	copy(b[factors:], lists[:])
}

func putTiles(b []byte, sizes []int) {
	for i, size := range sizes[:min(len(sizes), tileSizes)] {
		binary.NativeEndian.PutUint16(b[2*i:], uint16(size-1))
	}
}

// write writes the reference pictures. Slots keep their pictures, as in NVIDIA's parser.
func (r *references) write(b []byte, h *segment, s *store, poc int) {
	putInts(b[setBits:], h.setBits, h.set.predictor,
		len(r.before)+len(r.after)+len(r.long), len(r.before), len(r.after), len(r.long), poc)
	for i, slot := range s.slots {
		putInts(b[slotSurfaces+4*i:], -1)
		if slot.reference {
			putInts(b[slotSurfaces+4*i:], slot.surface)
			putInts(b[slotCounts+4*i:], slot.poc)
			put(b[slotLongTerm+i:], slot.longTerm)
		}
	}
	for i, list := range [][]byte{r.before, r.after, r.long} {
		copy(b[slotLists+8*i:], list)
	}
}
