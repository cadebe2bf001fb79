package nvdectest

import (
	"encoding/binary"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/video/picture"
)

// Results (CUresult).
const (
	invalidValue  = 1
	outOfMemory   = 2
	invalidHandle = 400
)

// A picture's states (cuvidDecodeStatus).
const (
	inProgress = 1
	Success    = 2
	Damaged    = 8
	Concealed  = 9
)

// Limits are a device's limits for a codec and a bit depth.
type Limits struct {
	Engines, Formats                    byte // Formats: bit 0 is NV12, bit 1 is P016
	MinWidth, MinHeight                 uint16
	MaxWidth, MaxHeight, MaxMacroblocks uint32
}

// Stream selects limits: a codec in the enumeration cudaVideoCodec, and bits.
type Stream struct{ Codec, Bits int }

// Picture is the argument for cuvidDecodePicture.
type Picture struct {
	Params picture.Params
	Slices []uint32
	Data   []byte
}

// Library is the library. Set its fields before it is used. Its memory is the simulated device's.
type Library struct {
	Limits map[Stream]Limits // an H200's
	Most   int               // decoders that have memory; 0 means all
	Decode func(p Picture)   // is called for each picture, if not nil
	Status map[uint64]int    // by a picture's Hash, if not Success
	Wrap   func(*cudadrv.FunctionTable) *cudadrv.FunctionTable

	t        testing.TB
	driver   *cudadrv.FunctionTable
	mu       sync.Mutex
	decoders map[uintptr]*decoder
	last     uintptr
	created  int
	ahead    []int
	pixels   []byte // the last mapped picture; the device copied it
}

// New returns a library on a device.
func New(t testing.TB, device *cudasim.Device) *Library {
	h264 := Limits{7, 1, 48, 16, 4096, 4096, 65536}
	hevc := Limits{7, 3, 144, 144, 8192, 8192, 262144}
	return &Library{
		Limits: map[Stream]Limits{{4, 8}: h264, {8, 8}: {7, 1, 144, 144, 8192, 8192, 262144}, {8, 10}: hevc, {8, 12}: hevc},
		t:      t, driver: device.FunctionTable(), decoders: map[uintptr]*decoder{},
	}
}

// FunctionTable returns the device's functions with the library.
func (l *Library) FunctionTable() *cudadrv.FunctionTable {
	calls := map[string]struct {
		arguments int
		call      func(a []uintptr) int
	}{
		"cuvidGetDecoderCaps":     {1, l.capabilities},
		"cuvidCreateDecoder":      {2, l.create},
		"cuvidDestroyDecoder":     {1, l.destroy},
		"cuvidReconfigureDecoder": {2, l.reconfigure},
		"cuvidDecodePicture":      {2, l.decode},
		"cuvidMapVideoFrame64":    {5, l.mapFrame},
		"cuvidUnmapVideoFrame64":  {2, l.unmap},
		"cuvidGetDecodeStatus":    {3, l.status},
	}
	table := *l.driver
	table.NVDEC = func() (*cudadrv.FunctionTable, error) {
		t := &cudadrv.FunctionTable{Path: "nvdectest", Lookup: func(name string, version int) (cudadrv.Proc, bool) {
			f, ok := calls[name]
			return func(a []uintptr) uintptr {
				l.mu.Lock()
				defer l.mu.Unlock()
				require.Len(l.t, a, f.arguments, name)
				return uintptr(f.call(a))
			}, ok
		}}
		if l.Wrap != nil {
			t = l.Wrap(t)
		}
		return t, nil
	}
	return &table
}

// Open returns how many decoders are open.
func (l *Library) Open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.decoders)
}

// Created returns how many decoders were ever created.
func (l *Library) Created() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.created
}

// Ahead returns, for each mapped picture, how many pictures were queued after it.
func (l *Library) Ahead() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]int(nil), l.ahead...)
}

// call calls the simulated driver.
func (l *Library) call(name string, version int, args ...uintptr) int {
	p, ok := l.driver.Lookup(name, version)
	require.True(l.t, ok, name)
	return int(int32(p(args)))
}

// bytes is a structure in memory.
type bytes []byte

func (b bytes) u16(at int) int { return int(binary.NativeEndian.Uint16(b[at:])) }
func (b bytes) i32(at int) int { return int(int32(binary.NativeEndian.Uint32(b[at:]))) }
func (b bytes) u64(at int) int { return int(binary.NativeEndian.Uint64(b[at:])) }

// others checks that a structure is zero except for ranges from, to.
func (l *Library) others(name string, b bytes, ranges ...int) {
	rest := append(bytes(nil), b...)
	for i := 0; i < len(ranges); i += 2 {
		clear(rest[ranges[i]:ranges[i+1]])
	}
	assert.Equal(l.t, make(bytes, len(b)), rest, "%s: unused and reserved fields", name)
}

// capabilities is cuvidGetDecoderCaps(CUVIDDECODECAPS *).
func (l *Library) capabilities(a []uintptr) int {
	s := bytes(cudadrv.View(a[0], 88))
	l.others("CUVIDDECODECAPS", s, 0, 12)
	const chroma420 = 1
	limits, ok := l.Limits[Stream{s.i32(0), s.i32(8) + 8}]
	if !ok || s.i32(4) != chroma420 {
		return 0
	}
	s[24], s[25] = 1, limits.Engines
	binary.NativeEndian.PutUint16(s[26:], uint16(limits.Formats))
	binary.NativeEndian.PutUint32(s[28:], limits.MaxWidth)
	binary.NativeEndian.PutUint32(s[32:], limits.MaxHeight)
	binary.NativeEndian.PutUint32(s[36:], limits.MaxMacroblocks)
	binary.NativeEndian.PutUint16(s[40:], limits.MinWidth)
	binary.NativeEndian.PutUint16(s[42:], limits.MinHeight)
	return 0
}
