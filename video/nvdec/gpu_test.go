package nvdec

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video"
)

// gpuPool returns a pool on the GPU. Without a GPU or its library for video, the test is skipped.
func gpuPool(t testing.TB) *pool {
	t.Helper()
	p, err := newPool(gputest.Require(t), 0)
	if errors.Is(errors.Unwrap(err), cudadrv.ErrNVDECMissing) {
		t.Skip("the driver is without libnvcuvid")
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Zero(t, p.streams)
		assert.NoError(t, p.close())
	})
	return p
}

// open opens a stream on a pool.
func (p *pool) open(t testing.TB, codec, device string) video.Decoder {
	t.Helper()
	d, err := open(video.Stream{Codec: codec, Device: device}, func() (*pool, error) { return p, nil })
	require.NoError(t, err)
	return d
}

// frameOf copies a picture, with its samples in the low bits.
func frameOf(p *video.Planes) videotest.Frame {
	f := videotest.Frame{Width: p.Width, Bits: p.Bits}
	for plane := range 2 {
		width, height := p.Size(plane)
		for y := range height {
			row := slices.Clone(p.Data[plane][y*p.Stride[plane]:][:width*sampleBytes(p.Bits)])
			if p.Bits > 8 {
				for x := range width {
					binary.NativeEndian.PutUint16(row[2*x:], sampleOf(p, plane, x, y))
				}
			}
			f.Rows = append(f.Rows, row)
		}
	}
	return f
}

// onHost copies a picture from the device, if it is there.
func onHost(t testing.TB, ctx *cudadrv.Context, p *video.Planes) *video.Planes {
	if p.Memory == nil {
		return p
	}
	b, host := make([]byte, p.Memory.Size()), *p
	require.NoError(t, ctx.CopyToHost(t.Context(), b, cudadrv.DevicePtr(p.Memory.Addr())))
	for i := range 2 {
		host.Data[i] = b[p.Start[i]:]
	}
	return &host
}

// framesOf decodes a stream. The frames come in display order.
func framesOf(t testing.TB, p *pool, s *videotest.Stream, device string) (list []videotest.Frame) {
	t.Helper()
	ctx, d, frames := p.ctx, p.open(t, s.Codec(), device), map[int64]videotest.Frame{}
	show := func(number int64, p *video.Planes, err error) error {
		if err == nil {
			frames[number] = frameOf(onHost(t, ctx, p))
		}
		return err
	}
	for i, packet := range s.Packets {
		require.NoError(t, d.Decode(packet, int64(i), show))
	}
	require.NoError(t, d.Flush(show))
	require.NoError(t, d.Close())
	require.Len(t, frames, len(s.Packets))
	for _, packet := range s.Order {
		list = append(list, frames[int64(packet)])
	}
	return list
}

// All frames equal those from the driver's own parser, from ffmpeg and from libde265.
func TestFramesOnAGPU(t *testing.T) {
	p := gpuPool(t)
	for _, f := range videotest.Decoded(t) {
		t.Run(f.Name, func(t *testing.T) { f.Check(t, framesOf(t, p, f.Stream, "")) })
	}
}

// Pictures that stay on the device have the same samples.
func checkOnDevice(t *testing.T, p *pool) {
	for _, name := range []string{"h264_crop_98x66", "hevc_crop_162x146", "hevc_main10"} {
		s := golden(t, name)
		assert.Equal(t, framesOf(t, p, s, ""), framesOf(t, p, s, p.device), name)
	}
}

func TestPicturesOnTheDevice(t *testing.T)       { checkOnDevice(t, newBench(t, nil).pool) }
func TestPicturesOnTheDeviceOnAGPU(t *testing.T) { checkOnDevice(t, gpuPool(t)) }

// checksums returns a picture's plane sums, which kvazaar writes after the slices (ITU-T H.265, D.3.19).
func checksums(packet []byte) (sums [3]uint32) {
	const head = "\x00\x00\x01\x50\x01\x84\x0d\x02" // supplemental information after the slices, 13 bytes of picture hash, checksum
	at := bytes.LastIndex(packet, []byte(head)) + len(head)
	for i := range sums {
		sums[i] = binary.BigEndian.Uint32(bytes.ReplaceAll(packet[at:], []byte{0, 0, 3}, []byte{0, 0})[4*i:])
	}
	return sums
}

// sumsOf returns the plane sums for a picture with 8 bits.
func sumsOf(p *video.Planes) (sums [3]uint32) {
	for plane := range 2 {
		width, height := p.Size(plane)
		for y := range height {
			for x := range width {
				i, c := plane, x
				if plane == 1 {
					i, c = 1+x%2, x/2
				}
				sums[i] += uint32(sampleOf(p, plane, x, y)) ^ uint32(c&255^y&255^c>>8^y>>8)
			}
		}
	}
	return sums
}

// The encoder's own checksums judge.
func TestChecksumsOfKvazaarOnAGPU(t *testing.T) {
	p := gpuPool(t)
	for name, s := range videotest.Plain(t) {
		if s.Codec() != "hevc" {
			continue
		}
		d, right := p.open(t, "hevc", ""), 0
		show := func(number int64, p *video.Planes, err error) error {
			if err == nil && sumsOf(p) == checksums(s.Packets[number]) {
				right++
			}
			return nil
		}
		for i, packet := range s.Packets {
			require.NoError(t, d.Decode(packet, int64(i), show))
		}
		require.NoError(t, d.Flush(show))
		require.NoError(t, d.Close())
		assert.Equal(t, len(s.Packets), right, name)
	}
}

// use is what the process and the device use.
type use struct {
	device     int64 // bytes
	resident   int64 // bytes
	files      int
	goroutines int
}

func useOf(t testing.TB, c *cudadrv.Context) (u use) {
	t.Helper()
	debug.FreeOSMemory()
	free, total, err := c.MemInfo()
	require.NoError(t, err)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("the system with the GPU has no /proc: ", err)
	}
	var pages int64
	_, err = fmt.Sscan(string(statm), new(int64), &pages)
	require.NoError(t, err)
	files, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return use{int64(total - free), pages * int64(os.Getpagesize()), len(files), runtime.NumGoroutine()}
}

// kinds are streams that need different sessions.
var kinds = []string{"h264_g2", "hevc_g2", "hevc_main10", "h264_size_1080", "hevc_size_1080", "hevc_main12"}

// openAndClose decodes the beginnings of n streams, each in a new session. Adjacent sessions differ in kind.
func openAndClose(t testing.TB, p *pool, n int) {
	t.Helper()
	for i := range n {
		s := golden(t, kinds[i%len(kinds)])
		d := p.open(t, s.Codec(), "")
		for k, packet := range s.Packets[:4] {
			require.NoError(t, d.Decode(packet, int64(k), answers{}.show))
		}
		require.NoError(t, d.Close())
		require.Len(t, p.idle, 1)
		require.NoError(t, p.evict())
	}
}

func TestDecodersLeaveNothing(t *testing.T) {
	b := newBench(t, nil)
	openAndClose(t, b.pool, len(kinds))
	before := len(b.device.Leaks())
	n := thorough.Of(len(kinds), 100)
	openAndClose(t, b.pool, n)
	assert.Equal(t, n+len(kinds), b.fake.Created())
	assert.Zero(t, b.fake.Open())
	assert.Len(t, b.device.Leaks(), before)
}

// A leak would show if it has 20 kB a decoder on the device, or 80 kB in the process.
func TestDecodersLeaveNothingOnAGPU(t *testing.T) {
	p := gpuPool(t)
	openAndClose(t, p, 4*len(kinds)) // after which the driver has what it keeps
	before := useOf(t, p.ctx)
	openAndClose(t, p, 100)
	after := useOf(t, p.ctx)
	t.Logf("before %+v, after %+v", before, after)
	assert.LessOrEqual(t, after.device-before.device, int64(2<<20), "bytes of the device")
	assert.LessOrEqual(t, after.resident-before.resident, int64(8<<20), "bytes of the process")
	assert.LessOrEqual(t, after.files, before.files)
	assert.LessOrEqual(t, after.goroutines, before.goroutines)
}

const killedEnv = "ROBOCACHE_TEST_KILLED"

// decodeForever decodes streams on the GPU in several goroutines. It prints a line when each has decoded one.
func decodeForever(t *testing.T) {
	p, ready := gpuPool(t), make(chan bool)
	for _, name := range kinds {
		s := golden(t, name)
		go func() {
			for first := true; ; first = false {
				d, err := open(video.Stream{Codec: s.Codec()}, func() (*pool, error) { return p, nil })
				for i := 0; err == nil && i < len(s.Packets); i++ {
					err = d.Decode(s.Packets[i], int64(i), answers{}.show)
				}
				if first {
					ready <- true
				}
				if err = errors.Join(err, d.Close()); err != nil {
					panic(err)
				}
			}
		}()
	}
	for range kinds {
		<-ready
	}
	fmt.Println(killedEnv)
	select {}
}

// A program that is killed while it decodes leaves no memory on the device, and the engines work.
func TestAKilledProgramLeavesNothingOnAGPU(t *testing.T) {
	if os.Getenv(killedEnv) != "" {
		decodeForever(t)
	}
	p := gpuPool(t)
	all := videotest.Decoded(t)
	first := all[slices.IndexFunc(all, func(f *videotest.Frames) bool { return f.Name == "hevc_main" })]
	first.Check(t, framesOf(t, p, first.Stream, ""))
	before := useOf(t, p.ctx)
	for range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestAKilledProgramLeavesNothingOnAGPU$")
		cmd.Env = append(os.Environ(), killedEnv+"=1")
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		ready, lines := false, bufio.NewScanner(out)
		for !ready && lines.Scan() {
			ready = strings.TrimSpace(lines.Text()) == killedEnv
		}
		assert.True(t, ready, "the child ends early")
		during := useOf(t, p.ctx)
		require.NoError(t, cmd.Process.Kill())
		assert.Error(t, cmd.Wait())
		assert.Greater(t, during.device-before.device, int64(16<<20), "the child's memory shows")
		began := time.Now()
		for useOf(t, p.ctx).device-before.device > 2<<20 && time.Since(began) < 20*time.Second {
			time.Sleep(50 * time.Millisecond)
		}
		after := useOf(t, p.ctx)
		t.Logf("%d MB in use during, %d MB more than before in use %v after the kill", during.device>>20, (after.device-before.device)>>20, time.Since(began))
		assert.LessOrEqual(t, after.device-before.device, int64(2<<20))
		first.Check(t, framesOf(t, p, first.Stream, ""))
	}
}

// outcome counts a damaged stream's frames.
type outcome struct{ right, refused, silent int }

// Slices with flipped bits give the right frames or errors. Where the bits make another valid slice, no decoder can find the damage; such
// frames are counted. No damage ends the process, the session or the engine.
func TestDamagedSlicesOnAGPU(t *testing.T) {
	p := gpuPool(t)
	names := []string{"h264_g2", "h264_main", "h264_baseline", "h264_opengop", "h264_slices4", "hevc_g2", "hevc_main", "hevc_slices", "hevc_main10", "hevc_wpp"}
	const mutations = 2000
	counts := map[string]*outcome{}
	for n, name := range names {
		s, o := golden(t, name), &outcome{}
		counts[name] = o
		right := digestsOf(t, p, s)
		for i := range mutations / len(names) {
			at, packets := damaged(s, uint64(n*mutations+i))
			began := time.Now()
			d := p.open(t, s.Codec(), "")
			shown := 0
			show := func(number int64, p *video.Planes, err error) error {
				shown++
				switch {
				case err != nil:
					o.refused++
					if number < int64(at) {
						t.Errorf("%s, mutation %d: packet %d before the damaged packet %d: %v", name, i, number, at, err)
					}
				case digest(p) == right[number]:
					o.right++
				default:
					o.silent++
					if number < int64(at) {
						t.Errorf("%s, mutation %d: packet %d before the damaged packet %d is wrong", name, i, number, at)
					}
				}
				return nil
			}
			var err error
			for k := 0; err == nil && k < len(packets); k++ {
				err = d.Decode(packets[k], int64(k), show)
			}
			if err == nil {
				err = d.Flush(show)
			}
			if refused := (*video.Refusal)(nil); errors.As(err, &refused) {
				o.refused, shown, err = o.refused+len(packets)-shown, len(packets), nil
			}
			require.NoError(t, err, "%s, mutation %d", name, i)
			require.NoError(t, d.Close())
			require.Equal(t, len(packets), shown)
			require.Less(t, time.Since(began), 30*time.Second)
		}
		require.Equal(t, right, digestsOf(t, p, s), "%s after damage", name)
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		o := counts[name]
		t.Logf("%-14s frames right %5d, refused %5d, silently wrong %5d", name, o.right, o.refused, o.silent)
	}
}

// digestsOf returns a stream's picture digests by packet.
func digestsOf(t testing.TB, p *pool, s *videotest.Stream) map[int64]uint64 {
	t.Helper()
	d, all := p.open(t, s.Codec(), ""), map[int64]uint64{}
	show := func(number int64, p *video.Planes, err error) error {
		if err == nil {
			all[number] = digest(p)
		}
		return err
	}
	for i, packet := range s.Packets {
		require.NoError(t, d.Decode(packet, int64(i), show))
	}
	require.NoError(t, d.Flush(show))
	require.NoError(t, d.Close())
	require.Len(t, all, len(s.Packets))
	return all
}
