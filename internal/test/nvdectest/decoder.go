package nvdectest

import (
	stdbytes "bytes"
	"encoding/binary"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/video/picture"
)

type decoder struct {
	codec, bits         int
	width, height       int
	maxWidth, maxHeight int
	surfaces            []surface
	most                int         // surfaces at creation
	free                []frameSlot // for frames that can be mapped
	mapped              map[uint64]mapping
	decoded             int
}

type surface struct {
	hash   uint64
	state  int
	number int // counts the decoder's pictures from 1
}

type frameSlot struct {
	at    uint64
	pitch int
}

type mapping struct {
	frameSlot
	surface int
}

// create is cuvidCreateDecoder(CUvideodecoder *, CUVIDDECODECREATEINFO *).
func (l *Library) create(a []uintptr) int {
	s := bytes(cudadrv.View(a[1], 176))
	l.others("CUVIDDECODECREATEINFO", s, 0, 48, 56, 72, 80, 92, 96, 120)
	d := &decoder{
		codec: s.i32(24), bits: s.u64(40) + 8, width: s.u64(0), height: s.u64(8), maxWidth: s.u64(56), maxHeight: s.u64(64),
		most: s.u64(16), mapped: map[uint64]mapping{},
	}
	assert.Equal(l.t, 1, s.i32(28), "4:2:0")
	assert.Equal(l.t, 4, s.u64(32), "cudaVideoCreate_PreferCUVID")
	assert.Equal(l.t, d.bits > 8, s.i32(88) == 1, "P016 for more than 8 bits, else NV12")
	area := [6]int{s.u16(80), s.u16(82), s.u16(84), s.u16(86), s.u64(96), s.u64(104)}
	assert.Equal(l.t, [6]int{0, 0, d.width, d.height, d.width, d.height}, area, "no cropping, no scaling")
	limits, ok := l.Limits[Stream{d.codec, d.bits}]
	if !ok || d.maxWidth > int(limits.MaxWidth) || d.maxHeight > int(limits.MaxHeight) || !d.resize(d.width, d.height, d.most) {
		return invalidValue
	}
	if l.Most > 0 && len(l.decoders) == l.Most {
		return outOfMemory
	}
	pitch := (d.maxWidth*(1+(d.bits-1)/8) + 255) / 256 * 256
	for range s.u64(112) {
		at := make([]byte, 8)
		if code := l.call("cuMemAlloc_v2", 3020, cudadrv.Addr(at), uintptr(pitch*d.maxHeight*3/2)); code != 0 {
			return code
		}
		d.free = append(d.free, frameSlot{binary.NativeEndian.Uint64(at), pitch})
	}
	l.last += 8
	l.created++
	l.decoders[l.last] = d
	binary.NativeEndian.PutUint64(cudadrv.View(a[0], 8), uint64(l.last))
	return 0
}

// resize begins a sequence.
func (d *decoder) resize(width, height, surfaces int) bool {
	if width < 2 || height < 2 || width > d.maxWidth || height > d.maxHeight || width%2+height%2 > 0 || surfaces < 1 || surfaces > 32 {
		return false
	}
	d.width, d.height, d.surfaces = width, height, make([]surface, surfaces)
	return true
}

// destroy is cuvidDestroyDecoder(CUvideodecoder).
func (l *Library) destroy(a []uintptr) int {
	d := l.decoders[a[0]]
	if d == nil {
		return invalidHandle
	}
	for _, m := range d.mapped {
		d.free = append(d.free, m.frameSlot)
	}
	for _, f := range d.free {
		if code := l.call("cuMemFree_v2", 3020, uintptr(f.at)); code != 0 {
			return code
		}
	}
	delete(l.decoders, a[0])
	return 0
}

// reconfigure is cuvidReconfigureDecoder(CUvideodecoder, CUVIDRECONFIGUREDECODERINFO *).
func (l *Library) reconfigure(a []uintptr) int {
	d, s := l.decoders[a[0]], bytes(cudadrv.View(a[1], 128))
	l.others("CUVIDRECONFIGUREDECODERINFO", s, 0, 20, 68, 76)
	width, height := s.i32(0), s.i32(4)
	area := [6]int{s.u16(68), s.u16(70), s.u16(72), s.u16(74), s.i32(8), s.i32(12)}
	assert.Equal(l.t, [6]int{0, 0, width, height, width, height}, area, "no cropping, no scaling")
	if d == nil {
		return invalidHandle
	}
	for _, surface := range d.surfaces {
		assert.NotEqual(l.t, inProgress, surface.state, "a picture is still decoded")
	}
	if len(d.mapped) > 0 || s.i32(16) > d.most || !d.resize(width, height, s.i32(16)) {
		return invalidValue
	}
	return 0
}

// decode is cuvidDecodePicture(CUvideodecoder, CUVIDPICPARAMS *).
func (l *Library) decode(a []uintptr) int {
	d := l.decoders[a[0]]
	if d == nil {
		return invalidHandle
	}
	p := Picture{Params: picture.Params(cudadrv.View(a[1], 4280))}
	s := bytes(p.Params[:])
	p.Data = stdbytes.Clone(cudadrv.View(uintptr(s.u64(32)), s.i32(24)))
	list := bytes(cudadrv.View(uintptr(s.u64(48)), 4*s.i32(40)))
	for i := range s.i32(40) {
		at := list.i32(4 * i)
		if at < 0 || at+3 > len(p.Data) || string(p.Data[at:at+3]) != "\x00\x00\x01" {
			return invalidValue
		}
		p.Slices = append(p.Slices, uint32(at))
	}
	to := s.i32(8)
	if to < 0 || to >= len(d.surfaces) || len(p.Slices) == 0 || s.i32(0) != d.width/16 || s.i32(4) != d.height/16 {
		return invalidValue
	}
	for _, m := range d.mapped {
		assert.NotEqual(l.t, m.surface, to, "a mapped picture is overwritten")
	}
	d.decoded++
	d.surfaces[to] = surface{Hash(p.Data), inProgress, d.decoded}
	if l.Decode != nil {
		l.Decode(p)
	}
	return 0
}

// mapFrame is cuvidMapVideoFrame64(CUvideodecoder, int, unsigned long long *, unsigned int *, CUVIDPROCPARAMS *).
func (l *Library) mapFrame(a []uintptr) int {
	d, s := l.decoders[a[0]], bytes(cudadrv.View(a[4], 264))
	l.others("CUVIDPROCPARAMS", s, 0, 4, 56, 64)
	assert.Equal(l.t, 1, s.i32(0), "progressive")
	if d == nil {
		return invalidHandle
	}
	if int(a[1]) >= len(d.surfaces) || len(d.free) == 0 || d.surfaces[a[1]].number == 0 {
		return invalidValue
	}
	from := &d.surfaces[a[1]]
	l.ahead = append(l.ahead, d.decoded-from.number)
	for i := range d.surfaces {
		if s := &d.surfaces[i]; s.state == inProgress && s.number <= from.number { // the engine decodes in order
			if s.state = Success; l.Status[s.hash] > 0 {
				s.state = l.Status[s.hash]
			}
		}
	}
	m := mapping{d.free[0], int(a[1])}
	l.pixels = frame(l.pixels, from.hash, d.width, d.height, d.bits, m.pitch)
	size, stream := uintptr(len(l.pixels)), uintptr(s.u64(56))
	if code := l.call("cuMemcpyHtoDAsync_v2", 3020, uintptr(m.at), cudadrv.Addr(l.pixels), size, stream); code != 0 {
		return code
	}
	d.free = d.free[1:]
	d.mapped[m.at] = m
	binary.NativeEndian.PutUint64(cudadrv.View(a[2], 8), m.at)
	binary.NativeEndian.PutUint32(cudadrv.View(a[3], 4), uint32(m.pitch))
	return 0
}

// unmap is cuvidUnmapVideoFrame64(CUvideodecoder, unsigned long long).
func (l *Library) unmap(a []uintptr) int {
	d := l.decoders[a[0]]
	if d == nil {
		return invalidHandle
	}
	m, ok := d.mapped[uint64(a[1])]
	if !ok {
		return invalidValue
	}
	delete(d.mapped, m.at)
	d.free = append(d.free, m.frameSlot)
	return 0
}

// status is cuvidGetDecodeStatus(CUvideodecoder, int, CUVIDGETDECODESTATUS *).
func (l *Library) status(a []uintptr) int {
	d, s := l.decoders[a[0]], bytes(cudadrv.View(a[2], 192))
	l.others("CUVIDGETDECODESTATUS", s)
	if d == nil {
		return invalidHandle
	}
	if int(a[1]) >= len(d.surfaces) {
		return invalidValue
	}
	binary.NativeEndian.PutUint32(s, uint32(d.surfaces[a[1]].state))
	return 0
}
