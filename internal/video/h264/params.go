package h264

import "github.com/robocache/robocache/internal/video/picture"

// Offsets in CUVIDH264PICPARAMS. Values are int32 unless stated.
const (
	log2MaxFrameNum   = 0 // minus 4
	orderType         = 4
	log2MaxOrderLow   = 8 // minus 4
	deltaAlwaysZero   = 12
	frameMbsOnly      = 16
	direct8x8         = 20
	numRefFrames      = 24
	entropyCodingMode = 32
	orderPresent      = 36
	activeL0          = 40 // minus 1
	activeL1          = 44 // minus 1
	weightedPred      = 48
	weightedBipred    = 52
	initQP            = 56 // minus 26
	deblockingControl = 60
	redundantCount    = 64
	transform8x8      = 68
	constrainedIntra  = 76
	chromaQP          = 80
	secondChromaQP    = 84
	isReference       = 88
	frameNum          = 92
	fieldOrderCounts  = 96  // top, bottom
	entries           = 104 // 16 structures
	weights4x4        = 552 // 6 x 16 bytes
	weights8x8        = 648 // 2 x 64 bytes
	initQS            = 779 // int8, minus 26
	adaptiveFlags     = 792 // bit 0: mb_adaptive_frame_field_flag, bit 1: bit 0 is valid

	// In an entry.
	entrySurface     = 0
	entryNum         = 4
	entryLong        = 8
	entryNotExisting = 12
	entryUsed        = 16 // 3: both fields
	entryCounts      = 20
	entrySize        = 28
)

// parameters writes a picture's parameters, except for its slices.
func (u *unit) parameters(s *sps, pic *pps) {
	params, h := &u.picture.Params, u.header
	params.Put(picture.WidthInMacroblocks, s.width)
	params.Put(picture.HeightInMacroblocks, s.height)
	params.Put(picture.Surface, u.surface)
	params.PutFlag(picture.IsReference, h.reference)
	put := func(at, v int) { params.Put(picture.Codec+at, v) }
	flag := func(at int, v bool) { params.PutFlag(picture.Codec+at, v) }

	put(log2MaxFrameNum, s.frameNumBits-4)
	put(orderType, s.orderType)
	put(log2MaxOrderLow, max(s.orderBits, 4)-4)
	flag(deltaAlwaysZero, s.deltaZero)
	flag(frameMbsOnly, s.frameOnly)
	flag(direct8x8, s.direct8x8)
	put(numRefFrames, s.references)

	flag(entropyCodingMode, pic.cabac)
	flag(orderPresent, pic.orderPresent)
	put(activeL0, pic.active[0]-1)
	put(activeL1, pic.active[1]-1)
	flag(weightedPred, pic.weighted)
	put(weightedBipred, pic.weightedBi)
	put(initQP, pic.qp)
	flag(deblockingControl, pic.deblocking)
	flag(redundantCount, pic.redundant)
	flag(transform8x8, pic.transform8x8)
	flag(constrainedIntra, pic.constrainedIntra)
	put(chromaQP, pic.chromaQP[0])
	put(secondChromaQP, pic.chromaQP[1])
	params[picture.Codec+initQS] = byte(pic.qs)
	put(adaptiveFlags, 2)
	for i, list := range weights(&s.scaling, &pic.scaling) {
		for j, w := range list[:listSize(i)] {
			if i < 6 {
				params[picture.Codec+weights4x4+16*i+zigzag4[j]] = w
			} else {
				params[picture.Codec+weights8x8+64*(i-6)+zigzag8[j]] = w
			}
		}
	}

	flag(isReference, h.reference)
	put(frameNum, h.frameNum)
	put(fieldOrderCounts, u.counts[0])
	put(fieldOrderCounts+4, u.counts[1])
	for i := range mostReferences {
		f, at := frame{surface: none}, entries+entrySize*i
		if i < len(u.buffer.dpb) {
			f = u.buffer.dpb[i]
			put(at+entryUsed, 3)
			flag(at+entryNotExisting, f.surface == none)
		}
		put(at+entrySurface, f.surface)
		put(at+entryNum, f.num)
		flag(at+entryLong, f.long)
		put(at+entryCounts, f.counts[0])
		put(at+entryCounts+4, f.counts[1])
	}
}
