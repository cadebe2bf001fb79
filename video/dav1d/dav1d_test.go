package dav1d

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/video"
)

// packets returns the packets in an IVF file: a header of 32 bytes, then for each packet its size, a time of 8 bytes, and the bytes.
func packets(t testing.TB, name string) (list [][]byte) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".ivf"))
	require.NoError(t, err)
	for b = b[32:]; len(b) > 0; {
		n := 12 + binary.LittleEndian.Uint32(b)
		list, b = append(list, b[12:n]), b[n:]
	}
	return list
}

func real(t testing.TB) *library {
	t.Helper()
	lib, err := loaded()
	var r *video.Refusal
	if errors.As(err, &r) && r.Reason == video.NoLibrary {
		t.Skip("libdav1d is not installed")
	}
	require.NoError(t, err)
	return lib
}

// rows adds a picture's samples to b, plane by plane.
func rows(b []byte, p *video.Planes) []byte {
	for i := range p.Data {
		w, h := p.Size(i)
		if p.Bits > 8 {
			w *= 2
		}
		for y := range h {
			b = append(b, p.Data[i][y*p.Stride[i]:][:w]...)
		}
	}
	return b
}

// The hashes are those of the frames by libaom (ffmpeg -c:v libaom-av1 -i FILE -f rawvideo -).
func TestFramesAreThoseOfAnotherDecoder(t *testing.T) {
	lib := real(t)
	for name, want := range map[string]struct {
		width, height, bits int
		layout              video.Layout
		matrix              uint8
		full                bool
		hash                string
	}{
		"8bit":  {64, 64, 8, video.YUV420, 2, false, "cd36ec8c66721a78"},
		"odd":   {65, 67, 8, video.YUV420, 2, false, "e8dd0c2c813ca1d0"},
		"10bit": {66, 66, 10, video.YUV420, 2, false, "73ba84768089ed1a"},
		"12bit": {33, 31, 12, video.YUV420, 2, false, "5802e9bd2a58168b"},
		"full":  {64, 48, 8, video.YUV420, 2, true, "6b03916c9b4581d6"},
		"709":   {64, 48, 8, video.YUV420, 1, false, "6b03916c9b4581d6"},
		"422":   {33, 31, 10, video.YUV422, 2, false, "0e4a23fcf13b9845"},
		"444":   {33, 31, 8, video.YUV444, 2, false, "60990539ff0de800"},
		"gray":  {33, 31, 8, video.Gray, 2, true, "73d6a4814dbe6f87"},
		"grain": {64, 64, 8, video.YUV420, 2, false, "4af073ada9b3b0da"},
	} {
		d, err := newDecoder(lib, nil)
		require.NoError(t, err)
		var all []byte
		next := int64(0)
		show := func(number int64, p *video.Planes, _ error) error {
			assert.Equal(t, next, number, name)
			next++
			assert.Equal(t, [3]int{want.width, want.height, want.bits}, [3]int{p.Width, p.Height, p.Bits}, name)
			assert.Equal(t, want.layout, p.Layout, name)
			assert.Equal(t, want.matrix, p.Matrix, name)
			assert.Equal(t, want.full, p.FullRange, name)
			all = rows(all, p)
			return nil
		}
		for i, packet := range packets(t, name) {
			require.NoError(t, d.Decode(packet, int64(i), show), name)
		}
		require.NoError(t, d.Flush(show))
		require.NoError(t, d.Close())
		assert.EqualValues(t, 8, next, name)
		sum := sha256.Sum256(all)
		assert.Equal(t, want.hash, hex.EncodeToString(sum[:8]), name)
	}
}

func TestDecodingBeginsAtAnyKeyFrame(t *testing.T) {
	list := packets(t, "8bit")
	var whole, part []byte
	for first, to := range map[int]*[]byte{0: &whole, 4: &part} {
		d, err := newDecoder(real(t), nil)
		require.NoError(t, err)
		for i := first; i < len(list); i++ {
			require.NoError(t, d.Decode(list[i], int64(i), func(n int64, p *video.Planes, _ error) error {
				if n >= 4 {
					*to = rows(*to, p)
				}
				return nil
			}))
		}
		require.NoError(t, d.Close())
	}
	assert.Equal(t, whole, part)
}

func TestDamageIsAnError(t *testing.T) {
	lib, list := real(t), packets(t, "8bit")
	none := func(int64, *video.Planes, error) error { return nil }
	d, err := newDecoder(lib, nil)
	require.NoError(t, err)
	assert.Error(t, d.Decode(nil, 0, none))
	assert.ErrorIs(t, d.Decode(packets(t, "8bit")[0][:100], 0, none), syscall.EINVAL)
	require.NoError(t, d.Close())

	stop := errors.New("stop")
	d, err = newDecoder(lib, nil)
	require.NoError(t, err)
	require.ErrorIs(t, d.Decode(list[0], 0, func(int64, *video.Planes, error) error { return stop }), stop)
	require.NoError(t, d.Close())

	for seed := range 300 { // any answer but a crash or a hang
		d, err = newDecoder(lib, nil)
		require.NoError(t, err)
		for i, p := range list {
			p = append([]byte(nil), p...)
			p[seed*7%len(p)] ^= 1 << (seed % 8)
			if d.Decode(p[:len(p)-seed%3*len(p)/4], int64(i), none) != nil {
				break
			}
		}
		require.NoError(t, d.Close())
	}
}

// The library skips zeros, which are a hole in the file, and would decode later pictures from wrong references.
func TestHolesAreDamage(t *testing.T) {
	list := packets(t, "8bit")
	for _, first := range [][]byte{nil, {10, 0}} {
		d := &decoder{lib: real(t), first: first}
		for _, packet := range [][]byte{nil, make([]byte, len(list[4]))} {
			assert.Equal(t, errEmpty, d.Decode(packet, 4, nil))
		}
	}
}

func TestTheDriverTakesAV1(t *testing.T) {
	real(t)
	d, err := openStream(video.Stream{Codec: "av1"})
	require.NoError(t, err)
	require.NoError(t, d.Close())
	_, err = openStream(video.Stream{Codec: "h264"})
	var r *video.Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, video.OtherCodec, r.Reason)
}

// fake is a library in Go. It gives back each packet's first byte as a gray picture.
type fake struct {
	t       *testing.T
	version []byte
	fail    function // gives code at its call number at
	code    int
	at      int
	calls   map[function]int
	data    []byte // created and not released
	waiting []int64
	open    int // contexts
	shown   int // pictures that are not released
	header  []byte
	pixels  []byte
}

func (f *fake) call(fn function, args ...uintptr) uintptr {
	f.calls[fn]++
	if fn == f.fail && f.calls[fn] == f.at {
		return uintptr(f.code)
	}
	arg := func(i, n int) []byte { return memory(args[i], n) }
	switch fn {
	case version:
		return address(f.version)
	case defaultSettings:
		for i := range arg(0, settingsSize) {
			arg(0, settingsSize)[i] = 0xff
		}
	case open:
		s := arg(1, settingsSize)
		assert.Equal(f.t, [4]int{1, 1, 0, video.MaxPixels}, [4]int{half(s, 0), half(s, applyGrain), half(s, allLayers), half(s, sizeLimit)})
		assert.Zero(f.t, word(s, logger))
		binary.NativeEndian.PutUint64(arg(0, 8), 77)
		f.open++
	case dataCreate:
		f.data = make([]byte, args[1])
		binary.NativeEndian.PutUint64(arg(0, dataSize), uint64(address(f.data)))
		binary.NativeEndian.PutUint64(arg(0, dataSize)[dataLeft:], uint64(len(f.data)))
		return address(f.data)
	case sendData:
		assert.EqualValues(f.t, 77, args[0])
		f.waiting = append(f.waiting, int64(word(arg(1, dataSize), dataTimestamp)))
		f.pixels = append(f.pixels[:0], f.data[0])
		clear(arg(1, dataSize))
		f.data = nil
	case dataUnref:
		f.data = nil
		clear(arg(0, dataSize))
	case getPicture:
		if len(f.waiting) == 0 {
			again := -int(syscall.EAGAIN)
			return uintptr(again)
		}
		p := arg(1, 264)
		binary.NativeEndian.PutUint64(p[pictureHeader:], uint64(address(f.header)))
		binary.NativeEndian.PutUint64(p[pictureData:], uint64(address(f.pixels)))
		binary.NativeEndian.PutUint64(p[pictureStride:], 64)
		for at, v := range map[int]uint32{pictureWidth: 1, pictureHeight: 1, pictureBits: 8} {
			put(p, at, v)
		}
		binary.NativeEndian.PutUint64(p[pictureTimestamp:], uint64(f.waiting[0]))
		f.waiting = f.waiting[1:]
		f.shown++
	case pictureUnref:
		f.shown--
	case closeDecoder:
		clear(arg(0, 8))
		f.open--
	}
	return 0
}

func newFake(t *testing.T, version string) *fake {
	f := &fake{t: t, version: append([]byte(version), 0), fail: -1, calls: map[function]int{}, header: make([]byte, 64), pixels: make([]byte, 64)}
	put(f.header, headerMatrix, 9)
	return f
}

// run decodes two packets.
func (f *fake) run() (shown []int64, err error) {
	lib, err := newLibrary(f.call)
	if err != nil {
		return nil, err
	}
	d, err := newDecoder(lib, []byte("av1C\x0a\x01"))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	show := func(n int64, p *video.Planes, _ error) error {
		shown = append(shown, n, int64(p.Data[0][0]), int64(p.Matrix))
		return nil
	}
	for i, packet := range []string{"ab", "cd"} {
		if err := d.Decode([]byte(packet), int64(i), show); err != nil {
			return shown, err
		}
	}
	return shown, d.Flush(show)
}

func TestVersionsAreRecognised(t *testing.T) {
	for version, soname := range map[string]int{"0.9.2": 5, "1.0.0": 6, "1.2.1-13-gabc": 6, "1.3.0": 7, "1.5.3": 7, "1.12.0": 7} {
		f := newFake(t, version)
		lib, err := newLibrary(f.call)
		require.NoError(t, err)
		assert.Equal(t, soname, lib.layout.soname, version)
		shown, err := f.run()
		require.NoError(t, err)
		assert.Equal(t, []int64{0, '\x0a', 9, 1, 'c', 9}, shown, "the first packet follows the file's OBUs")
	}
	for _, version := range []string{"0.8.2", "2.0.0", "", "one", strings.Repeat("9", 100)} {
		_, err := newLibrary(newFake(t, version).call)
		var r *video.Refusal
		require.ErrorAs(t, err, &r, version)
		assert.Equal(t, video.OldLibrary, r.Reason)
	}
}

// An error at any call ends the decoding, and nothing stays behind.
func TestEachCallMayFail(t *testing.T) {
	whole := newFake(t, "1.0.0")
	_, err := whole.run()
	require.NoError(t, err)
	for fn, code := range map[function]int{open: -12, dataCreate: 0, sendData: -22, getPicture: -12} {
		for at := 1; at <= whole.calls[fn]; at++ {
			f := newFake(t, "1.0.0")
			f.fail, f.code, f.at = fn, code, at
			_, err := f.run()
			var code syscall.Errno
			require.ErrorAs(t, err, &code, "%s %d", functions[fn], at)
			require.ErrorContains(t, err, functions[fn])
			assert.Zero(t, f.open)
			assert.Zero(t, f.shown)
			assert.Nil(t, f.data)
		}
	}
	f := newFake(t, "1.0.0")
	f.fail, f.code, f.at = sendData, -int(syscall.EAGAIN), 1
	_, err = f.run()
	require.ErrorIs(t, err, syscall.EAGAIN, "it neither takes a packet nor shows a picture")
}

func TestALibraryIsNamed(t *testing.T) {
	t.Setenv(libraryEnv, "libs/libdav1d.so")
	_, err := names()
	require.ErrorContains(t, err, "must be an absolute path or a bare name")
	t.Setenv(libraryEnv, "/none/libdav1d.so")
	_, err = load()
	var r *video.Refusal
	require.ErrorAs(t, err, &r)
	assert.Equal(t, video.NoLibrary, r.Reason)
	assert.ErrorContains(t, r.Err, "/none/libdav1d.so")
	t.Setenv(libraryEnv, "libc.so.6")
	_, err = load()
	require.ErrorAs(t, err, &r)
	assert.Equal(t, video.OldLibrary, r.Reason)
}
