package nvdec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/faultsweep"
	"github.com/robocache/robocache/internal/test/nvdectest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// answers are the results of a stream's packets, by number.
type answers map[int64]error

func (a answers) show(number int64, p *video.Planes, err error) error {
	if _, twice := a[number]; twice || (p == nil) == (err == nil) {
		return fmt.Errorf("packet %d: shown twice, or neither shown nor refused", number)
	}
	a[number] = err
	return nil
}

// decode decodes packets, and returns their answers.
func decode(t testing.TB, d video.Decoder, packets [][]byte) answers {
	t.Helper()
	a := answers{}
	for i, packet := range packets {
		require.NoError(t, d.Decode(packet, int64(i), a.show))
	}
	require.NoError(t, d.Flush(a.show))
	require.NoError(t, d.Close())
	require.Len(t, a, len(packets))
	return a
}

// numbers lists the packets with an error.
func (a answers) numbers(kind error) (list []int) {
	for i := range len(a) {
		if errors.Is(a[int64(i)], kind) {
			list = append(list, i)
		}
	}
	return list
}

func golden(t testing.TB, name string) *videotest.Stream { return videotest.Streams(t, name)[name] }

// A damaged picture is an error, and so are the pictures that may refer to it. Others are shown.
func TestDamageIsNeverShown(t *testing.T) {
	for _, state := range []int{nvdectest.Damaged, nvdectest.Concealed} {
		for _, c := range []struct {
			stream      string
			damaged     int
			undecodable []int
			referenced  bool
		}{
			{"h264_g1", 3, nil, true},
			{"h264_g2", 2, []int{3}, true},
			{"h264_baseline", 4, []int{5, 6, 7, 8, 9, 10, 11}, true},
			{"hevc_g2", 4, []int{5}, true},
			{"hevc_main", 20, []int{21, 22, 23}, true},
			{"h264_pyr_normal", 39, nil, false},
		} {
			s := golden(t, c.stream)
			b := newBench(t, func(l *nvdectest.Library) { l.Status = map[uint64]int{nvdectest.Hash(s.Packets[c.damaged]): state} })
			a := decode(t, b.open(codecOf(c.stream), nil), s.Packets)
			assert.Equal(t, []int{c.damaged}, a.numbers(video.ErrDamaged), c.stream)
			assert.Equal(t, c.undecodable, a.numbers(video.ErrUndecodable), c.stream)
		}
	}
}

// If a picture without references to it is damaged, its followers are shown.
func TestDamageSpreadsByReferencesOnly(t *testing.T) {
	s, damaged := golden(t, "h264_pyr_normal"), -1
	for i, p := range s.Pictures[:20] {
		if p.Params.Int(picture.IsReference) == 0 {
			damaged = i
		}
	}
	require.Positive(t, damaged)
	b := newBench(t, func(l *nvdectest.Library) {
		l.Status = map[uint64]int{nvdectest.Hash(s.Packets[damaged]): nvdectest.Damaged}
	})
	a := decode(t, b.open("h264", nil), s.Packets)
	assert.Equal(t, []int{damaged}, a.numbers(video.ErrDamaged))
	assert.Empty(t, a.numbers(video.ErrUndecodable))
}

// A packet that cannot be parsed is that packet's error. Pictures are shown again from the next key frame.
func TestBadPackets(t *testing.T) {
	for _, name := range []string{"h264_g2", "hevc_g2"} {
		s := golden(t, name)
		b := newBench(t, nil)
		packets := append([][]byte{s.Packets[0], {}, {0, 0, 1, 0x80, 0x80, 0x80}}, s.Packets[1:]...)
		a := decode(t, b.open(codecOf(name), nil), packets)
		invalid := (*picture.InvalidError)(nil)
		assert.NoError(t, a[0])
		assert.ErrorIs(t, a[1], video.ErrNoPicture)
		assert.ErrorAs(t, a[2], &invalid)
		assert.Equal(t, []int{3}, a.numbers(video.ErrUndecodable), name)
		assert.NoError(t, a[4])
	}
}

// A hole in a file, which has zeros, takes a packet's picture or its last slices. The next pictures have no references then, even if
// their numbers continue those before the hole.
func TestHolesAreNeverPictures(t *testing.T) {
	for _, name := range []string{"h264_slices4", "hevc_slices"} {
		s := golden(t, name)
		s = &videotest.Stream{Name: name, Packets: slices.Concat(s.Packets[:2], s.Packets[:2])}
		annexB := slices.Clone(s.Packets)
		annexB[2] = make([]byte, len(annexB[2]))
		a := decode(t, newBench(t, nil).open(codecOf(name), nil), annexB)
		assert.Equal(t, []int{2}, a.numbers(video.ErrNoPicture), name)
		assert.Equal(t, []int{3}, a.numbers(video.ErrUndecodable), name)

		config, packets := boxed(s)
		units, at := []int{0}, 0 // where units begin in the packet
		for at < len(packets[2]) {
			at += 4 + int(binary.BigEndian.Uint32(packets[2][at:]))
			units = append(units, at)
		}
		for _, hole := range [][2]int{{40, 60}, {200, 400}} { // in a slice's data
			damaged, begin := slices.Clone(packets), units[len(units)-2]
			damaged[2] = slices.Clone(packets[2])
			clear(damaged[2][begin+hole[0] : begin+hole[1]])
			a := decode(t, newBench(t, nil).open(codecOf(name), config), damaged)
			invalid := (*picture.InvalidError)(nil)
			assert.ErrorAs(t, a[2], &invalid, "%s without the bytes %v", name, hole)
			assert.Equal(t, []int{3}, a.numbers(video.ErrUndecodable), "%s without the bytes %v", name, hole)
		}
		for _, from := range []int{units[len(units)-2], units[len(units)-3], 0} { // the last slice, two slices, all
			clear(packets[2][from:])
			a := decode(t, newBench(t, nil).open(codecOf(name), config), packets)
			invalid := (*picture.InvalidError)(nil)
			assert.ErrorAs(t, a[2], &invalid, "%s without the bytes from %d", name, from)
			assert.Equal(t, []int{3}, a.numbers(video.ErrUndecodable), "%s without the bytes from %d", name, from)
		}
	}
}

// edited changes the pictures of a parser.
type edited struct {
	parser
	edit func(p *picture.Picture)
}

func (e edited) Parse(packet []byte) (*picture.Picture, error) {
	p, err := e.parser.Parse(packet)
	if err == nil {
		e.edit(p)
	}
	return p, err
}

func TestHiddenPicturesAreNotShown(t *testing.T) {
	s := golden(t, "hevc_main")
	b := newBench(t, func(l *nvdectest.Library) {
		l.Status = map[uint64]int{nvdectest.Hash(s.Packets[20]): nvdectest.Damaged}
	})
	d, i := b.open("hevc", nil), 0
	d.parser = edited{d.parser, func(p *picture.Picture) {
		p.Hidden = i == 1 || i == 20
		i++
	}}
	a := decode(t, d, s.Packets)
	assert.Equal(t, []int{1}, a.numbers(video.ErrHidden))
	assert.Equal(t, []int{20}, a.numbers(video.ErrDamaged), "it is a reference nevertheless")
	assert.Equal(t, []int{21, 22, 23}, a.numbers(video.ErrUndecodable))
}

func TestTheVisiblePartMayBeginAnywhere(t *testing.T) {
	for _, name := range []string{"h264_main", "hevc_main", "hevc_main10", "hevc_main12"} {
		s := golden(t, name)
		f := formatOf(s.Formats[0])
		f.left, f.top, f.width, f.height = 6, 10, 38, 22 // 38*22*3/2 words are no multiple of four
		cropped := picture.Format{}
		d := newBench(t, nil).open(codecOf(name), nil)
		d.parser = edited{d.parser, func(p *picture.Picture) {
			if cropped.Width == 0 {
				cropped = *p.Format
				cropped.Crop = [4]int{6, 10, 44, 32}
			}
			p.Format = &cropped
		}}
		show := func(number int64, p *video.Planes, err error) error {
			checkPicture(t, p, f, s.Packets[number])
			return err
		}
		for i, packet := range s.Packets {
			require.NoError(t, d.Decode(packet, int64(i), show))
		}
		require.NoError(t, d.Flush(show))
		require.NoError(t, d.Close())
	}
}

// A stream may change its size. No picture of the earlier size is lost, and the decoder stays.
func TestAStreamMayChangeItsFormat(t *testing.T) {
	for _, names := range [][]string{
		{"h264_g2", "h264_crop_66x50", "h264_size_1080", "h264_g2"}, {"hevc_g2", "hevc_crop_178x150", "hevc_main10", "hevc_g2"},
	} {
		b := newBench(t, nil)
		d, number := b.open(codecOf(names[0]), nil), int64(0)
		var packets [][]byte
		var formats []format
		show := func(n int64, p *video.Planes, err error) error {
			require.NoError(t, err)
			require.Equal(t, number, n)
			checkPicture(t, p, formats[n], packets[n])
			number++
			return nil
		}
		for _, name := range names {
			s := golden(t, name)
			for _, packet := range s.Packets {
				packets, formats = append(packets, packet), append(formats, formatOf(s.Formats[0]))
				require.NoError(t, d.Decode(packet, int64(len(packets)-1), show))
			}
		}
		require.NoError(t, d.Flush(show))
		require.NoError(t, d.Close())
		assert.Len(t, packets, int(number))
		assert.Equal(t, 2, b.fake.Created(), "one for each size class, or bit depth")
	}
}

// After Flush, decoding begins anew: also at a key frame that leading pictures follow.
func TestDecodingBeginsAnewAfterFlush(t *testing.T) {
	s := golden(t, "hevc_opengop")
	d := newBench(t, nil).open("hevc", nil)
	key := slices.IndexFunc(s.Pictures[1:], func(p videotest.Picture) bool { return p.Params.Int(picture.IsIntra) != 0 }) + 1
	before, after := answers{}, answers{}
	for i, packet := range s.Packets[:key] {
		require.NoError(t, d.Decode(packet, int64(i), before.show))
	}
	require.NoError(t, d.Flush(before.show))
	assert.Len(t, before, key)
	for i, packet := range s.Packets[key:] {
		require.NoError(t, d.Decode(packet, int64(i), after.show))
	}
	require.NoError(t, d.Flush(after.show))
	assert.Equal(t, []int{1}, after.numbers(video.ErrUndecodable))
	assert.NoError(t, after[0])
	require.NoError(t, d.Close())
	require.NoError(t, d.Close())
	assert.ErrorIs(t, d.Decode(s.Packets[0], 0, before.show), cudadrv.ErrClosed)
}

// boxed returns the body of an avcC or hvcC box, and the packets with lengths of four bytes in place of start codes.
func boxed(s *videotest.Stream) (config []byte, packets [][]byte) {
	sets := parameterSets(codecOf(s.Name), s.Packets[0])
	unit := func(u []byte) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(u))), u...) }
	if codecOf(s.Name) == "h264" {
		config = append([]byte{1, 100, 0, 30, 0xff, 0xe1}, unit(sets[0])...)
		config = append(append(config, 1), unit(sets[1])...)
	} else {
		config = make([]byte, 23)
		config[0], config[21], config[22] = 1, 3, byte(len(sets))
		for _, u := range sets {
			config = append(append(config, u[0]>>1&63, 0, 1), unit(u)...)
		}
	}
	for _, packet := range s.Packets {
		var b []byte
		for u := range bitstream.Units(packet, 0) {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(u))), u...)
		}
		packets = append(packets, b)
	}
	return config, packets
}

func TestPacketsOfAContainerAreDecoded(t *testing.T) {
	for _, name := range []string{"h264_slices4", "hevc_main10"} {
		s := golden(t, name)
		config, packets := boxed(s)
		d := newBench(t, nil).open(codecOf(name), config)
		show := func(n int64, p *video.Planes, err error) error {
			checkPicture(t, p, formatOf(s.Formats[0]), s.Packets[n])
			return err
		}
		for i, packet := range packets {
			require.NoError(t, d.Decode(packet, int64(i), show))
		}
		require.NoError(t, d.Flush(show))
		require.NoError(t, d.Close())
	}
}

// With intra refresh, later H.264 pictures are built on intact parts. HEVC has no such rule, and its references would be absent.
func TestUndecodablePicturesAreQueuedForH264Only(t *testing.T) {
	for name, queued := range map[string]int{"h264_opengop": 4, "hevc_opengop": 0} {
		s, count := golden(t, name), 0
		b := newBench(t, func(l *nvdectest.Library) { l.Decode = func(nvdectest.Picture) { count++ } })
		d, a := b.open(codecOf(name), nil), answers{}
		d.wrong[1], d.wrong[2] = 1, 1 // a session begins without wrong pictures
		require.NoError(t, d.Decode(seek(s, 1), 0, a.show))
		for i := 1; i < 4; i++ {
			require.NoError(t, d.Decode(s.Packets[1+i], int64(i), a.show))
		}
		require.NoError(t, d.Flush(a.show))
		require.NoError(t, d.Close())
		assert.Equal(t, []int{0, 1, 2, 3}, a.numbers(video.ErrUndecodable))
		assert.Equal(t, queued, count, name)
	}
}

// A decoder with a failed call is not used again.
func TestAFailedDecoderIsClosed(t *testing.T) {
	s := golden(t, "h264_g2")
	for _, call := range []string{"cuvidDecodePicture", "cuvidMapVideoFrame64", "cuvidUnmapVideoFrame64", "cuvidGetDecodeStatus"} {
		b := newBench(t, func(l *nvdectest.Library) {
			l.Wrap = func(t *cudadrv.FunctionTable) *cudadrv.FunctionTable {
				t, _ = cudasim.Inject(t, cudasim.Failure{Call: call, N: 2, Code: 999})
				return t
			}
		})
		d := b.open("h264", nil)
		var err error
		for i := 0; err == nil; i++ {
			err = d.Decode(s.Packets[i], int64(i), answers{}.show)
		}
		assert.ErrorContains(t, err, call)
		program := (*video.ProgramError)(nil)
		assert.ErrorAs(t, err, &program)
		require.NoError(t, d.Close())
		require.NoError(t, d.Flush(answers{}.show), "nothing is left")
		assert.Zero(t, b.fake.Open(), call)
		decode(t, b.open("h264", nil), s.Packets)
		assert.Equal(t, 2, b.fake.Created())
	}
}

func TestTheCallersErrorEndsDecoding(t *testing.T) {
	stop := errors.New("stop")
	s := golden(t, "h264_g2")
	d := newBench(t, nil).open("h264", nil)
	for i, packet := range s.Packets[:delay] {
		require.NoError(t, d.Decode(packet, int64(i), nil))
	}
	end := func(int64, *video.Planes, error) error { return stop }
	assert.Equal(t, stop, d.Decode(s.Packets[delay], delay, end))
	assert.Equal(t, stop, d.Flush(end))
	require.NoError(t, d.Close())
}

// Each call of the driver and of the library that fails gives an error with its name, and nothing stays open.
func TestEachCallMayFail(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	s := golden(t, "hevc_g2")
	run := func(drv *cudadrv.Driver) (err error) {
		defer func() {
			if r := (*video.Refusal)(nil); errors.As(err, &r) {
				err = r.Err
			}
		}()
		p, err := newPool(drv, 0)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		d, err := open(video.Stream{Codec: "hevc"}, func() (*pool, error) { return p, nil })
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, d.Close()) }()
		a := answers{}
		for i, packet := range append(s.Packets[:7:7], golden(t, "hevc_size_640x360").Packets[:2]...) {
			if err := d.Decode(packet, int64(i), a.show); err != nil {
				return err
			}
		}
		return d.Flush(a.show)
	}
	var device *cudasim.Device
	for _, after := range []bool{false, true} {
		(&faultsweep.Sweep{
			FunctionTable: func() *cudadrv.FunctionTable {
				device = cudasim.New(cudasim.Config{})
				return nvdectest.New(t, device).FunctionTable()
			},
			Run: run, Code: 999, After: after,
			Open: func() (list []string) {
				for _, l := range device.Leaks() {
					list = append(list, l.Kind)
				}
				return list
			},
		}).Do(t)
	}
	for n := 1; ; n++ {
		device = cudasim.New(cudasim.Config{})
		var in *cudasim.Injector
		fake := nvdectest.New(t, device)
		fake.Wrap = func(t *cudadrv.FunctionTable) *cudadrv.FunctionTable {
			t, in = cudasim.Inject(t, cudasim.Failure{N: n, Code: 999, Match: func(name string) bool { return name != "cuvidDestroyDecoder" }})
			return t
		}
		drv, err := cudadrv.NewDriver(fake.FunctionTable())
		require.NoError(t, err)
		err = run(drv)
		assert.Empty(t, device.Leaks())
		if len(in.Hits()) == 0 {
			require.NoError(t, err)
			require.Greater(t, n, 30)
			return
		}
		failed := (*cudadrv.Error)(nil)
		require.ErrorAs(t, err, &failed)
		require.Contains(t, in.Hits()[0], failed.Op)
	}
}

// Intra refresh restores a picture part by part after a message. Damage to such a part remains up to the next message's point. In an open
// group, pictures after the key picture do not refer to those before it.
func TestDamageEndsAtARecoveryPoint(t *testing.T) {
	for _, c := range []struct {
		name           string
		first, damaged int
		good           int // the first packet from which on all are
	}{
		{"h264_opengop", 0, 5, 11},
		{"h264_opengop", 8, 9, 21},
		{"h264_intrarefresh", 0, 12, 29},
		{"h264_intrarefresh", 0, 19, 29},
		{"h264_intrarefresh", 0, 20, 39},
		{"h264_intrarefresh", 0, 29, 39},
		{"h264_intrarefresh", 9, 9, 19},
		{"h264_intrarefresh", 9, 10, 29},
		{"h264_intrarefresh", 9, 14, 29},
		{"h264_intrarefresh", 9, 18, 29},
	} {
		s := golden(t, c.name)
		b := newBench(t, func(l *nvdectest.Library) {
			l.Status = map[uint64]int{nvdectest.Hash(s.Packets[c.damaged]): nvdectest.Damaged}
		})
		packets := slices.Clone(s.Packets[c.first:])
		packets[0] = seek(s, c.first)
		a := decode(t, b.open("h264", nil), packets)
		good := len(s.Packets)
		for good > c.first && a[int64(good-1-c.first)] == nil {
			good--
		}
		assert.Equal(t, c.good, good, "%s from %d, damage in %d", c.name, c.first, c.damaged)
		for i := c.damaged + 1; i < good; i++ {
			assert.True(t, a[int64(i-c.first)] != nil || s.Pictures[i].Params.Int(picture.IsIntra) != 0 || s.Pictures[c.damaged].Params.Int(picture.IsReference) == 0, "%s from %d, damage in %d: packet %d", c.name, c.first, c.damaged, i)
		}
	}
}

// The parser finds where pictures are good again. Damage before that, and the session's earlier streams, do not matter.
func TestDamageBeforeTheRecoveryPoint(t *testing.T) {
	for name, start := range map[string]int{"h264_intrarefresh": 1, "h264_opengop": 9} {
		s := golden(t, name)
		run := func(damaged int) []int {
			b := newBench(t, func(l *nvdectest.Library) {
				if damaged >= 0 {
					l.Status = map[uint64]int{nvdectest.Hash(s.Packets[start+damaged]): nvdectest.Damaged}
				}
			})
			d := b.open("h264", nil)
			for i := range d.wrong {
				d.wrong[i] = 1
			}
			packets := slices.Clone(s.Packets[start:])
			packets[0] = seek(s, start)
			return decode(t, d, packets).numbers(video.ErrUndecodable)
		}
		lost := run(-1)
		require.NotEmpty(t, lost)
		require.Less(t, len(lost), len(s.Packets)-start)
		assert.Equal(t, lost, run(lost[0]), name)
	}
}
