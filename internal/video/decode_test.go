package video

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// fake is a driver for packets with one byte, the level of a gray picture. It shows pictures in display order, when the next two packets
// were decoded.
type fake struct {
	name    string
	open    error         // from Open
	at      int           // the packet, or the number of packets for Flush, where Decode or Flush gives err
	err     error         //
	missing map[int]error // packets without a picture, and the reason that is shown; nil shows nothing
	twice   bool          // shows another picture for each packet, too
	job     *Job
	cancel  context.CancelFunc // called at packet at
	opened  int
	closed  int
	queue   []int
}

func (f *fake) driver() Driver {
	return Driver{Name: f.name, Open: func(Stream) (Decoder, error) {
		if f.open != nil {
			return nil, f.open
		}
		f.opened++
		f.queue = nil
		return f, nil
	}}
}

func (f *fake) Decode(packet []byte, number int64, show Show) error {
	if int(number) == f.at {
		if f.cancel != nil {
			f.cancel()
		} else if f.err != nil {
			return f.err
		}
	}
	f.queue = append(f.queue, int(packet[0]))
	if len(f.queue) > 2 {
		return f.show(show)
	}
	return nil
}

func (f *fake) Flush(show Show) error {
	if f.at == len(f.job.Packets) && f.err != nil {
		return f.err
	}
	for len(f.queue) > 0 {
		if err := f.show(show); err != nil {
			return err
		}
	}
	return nil
}

func (f *fake) Close() error { f.closed++; return nil }

// show shows the first picture in display order.
func (f *fake) show(show Show) error {
	level := slices.Min(f.queue)
	f.queue = slices.DeleteFunc(f.queue, func(l int) bool { return l == level })
	number := int64(slices.IndexFunc(f.job.Packets, func(p Packet) bool { return int(p.Rank) == level }))
	if err, there := f.missing[int(number)]; there {
		if err != nil {
			return show(number, nil, err)
		}
		return nil
	}
	picture := &Planes{Width: 1, Height: 1, Bits: 8, FullRange: true, Data: [3][]byte{{byte(level)}}, Stride: [3]int{1}}
	if err := show(number, picture, nil); err != nil || !f.twice {
		return err
	}
	picture.Data[0][0] = 255
	return show(number, picture, nil)
}

// install makes the drivers the only ones during a test. The job's packets have the given ranks.
func install(t *testing.T, ranks []int, list ...*fake) *Job {
	t.Helper()
	job := &Job{Codec: "h264", Entry: entry("avc1")}
	for _, r := range ranks {
		job.Packets = append(job.Packets, Packet{Size: 1, Rank: int32(r)})
	}
	job.Open = func(_ context.Context, i int) (io.Reader, error) {
		return bytes.NewReader([]byte{byte(job.Packets[i].Rank)}), nil
	}
	job.Fail = func(place int) *dataset.FormatError {
		return &dataset.FormatError{Format: "test", Offset: -1, Msg: fmt.Sprint("place ", place)}
	}
	old := registered()
	drivers.list = nil
	t.Cleanup(func() { drivers.list = old })
	for _, f := range list {
		f.job = job
		Register(f.driver())
	}
	return job
}

// levels decodes frames and returns their levels up to the error.
func levels(ctx context.Context, job *Job, ranks []int) (got []int, err error) {
	got = []int{}
	for frame, err := range Decode(ctx, ranks, job.Planes) {
		if err != nil {
			return got, err
		}
		b, err := tensor.Data[uint8](frame)
		if err != nil {
			return got, err
		}
		got = append(got, int(b[0]))
	}
	return got, nil
}

// pyramid is a group of pictures with B-frames in decoding order.
var pyramid = []int{0, 4, 2, 1, 3, 8, 6, 5, 7}

var all = []int{0, 1, 2, 3, 4, 5, 6, 7, 8}

// without makes a program that stands for ffmpeg.
func without(t *testing.T, script string) {
	path := filepath.Join(t.TempDir(), "ffmpeg")
	if script != "" {
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	}
	t.Setenv("ROBOCACHE_FFMPEG", path)
}

func TestADriverGivesFramesInTheOrderOfDisplay(t *testing.T) {
	without(t, "")
	for _, ranks := range [][]int{all, {0}, {8}, {3, 4, 7}, {}} {
		f := &fake{name: "one", at: -1, twice: true}
		got, err := levels(context.Background(), install(t, pyramid, f), ranks)
		require.NoError(t, err)
		assert.Equal(t, ranks, got)
		assert.Equal(t, f.opened, f.closed)
	}
}

func TestADriverMayRefuseAtAnyPacket(t *testing.T) {
	without(t, "")
	for at := -1; at <= len(pyramid); at++ {
		refusal := &Refusal{Driver: "one", Reason: Feature}
		one, two := &fake{name: "one", at: at, err: fmt.Errorf("wrapped: %w", refusal)}, &fake{name: "two", at: -1}
		if at < 0 {
			one.open = refusal
		}
		got, err := levels(context.Background(), install(t, pyramid, two, one), all)
		require.NoError(t, err)
		assert.Equal(t, all, got, "refused at packet %d", at)
		assert.Equal(t, 1, two.opened)
		assert.Equal(t, one.opened, one.closed)
	}
}

func TestTheErrorAtAPacketIsOfTheFirstFrameThatIsLeft(t *testing.T) {
	without(t, "")
	broken := errors.New("broken")
	for at := 0; at <= len(pyramid); at++ {
		for err, kind := range map[error]error{broken: dataset.ErrCorrupt, syscall.ENOMEM: dataset.ErrUnsupported, &ProgramError{Err: broken}: dataset.ErrUnsupported} {
			one, two := &fake{name: "one", at: at, err: fmt.Errorf("call: %w", err)}, &fake{name: "two", at: -1}
			got, failed := levels(context.Background(), install(t, pyramid, one, two), all)
			require.ErrorIs(t, failed, kind)
			require.ErrorContains(t, failed, fmt.Sprintf("place %d:", len(got)))
			require.ErrorContains(t, failed, "no picture of it from one: call: ")
			assert.Equal(t, all[:len(got)], got)
			var program *ProgramError
			assert.Equal(t, kind == dataset.ErrUnsupported, errors.As(failed, &program))
			assert.Zero(t, two.opened)
			assert.Equal(t, 1, one.closed)
		}
	}
	one := &fake{name: "one", open: syscall.ENOMEM}
	_, err := levels(context.Background(), install(t, pyramid, one), all)
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

func TestAMissingPictureIsAnErrorAndNeverAnother(t *testing.T) {
	without(t, "")
	for number, rank := range pyramid {
		for _, reason := range []error{nil, ErrHidden, ErrDamaged} {
			f := &fake{name: "one", at: -1, missing: map[int]error{number: reason}}
			got, err := levels(context.Background(), install(t, pyramid, f), all)
			require.ErrorIs(t, err, dataset.ErrCorrupt)
			require.ErrorContains(t, err, fmt.Sprintf("place %d:", rank))
			if reason == nil {
				reason = ErrNoPicture
			}
			assert.ErrorIs(t, err, reason)
			assert.Equal(t, all[:rank], got)
			rest := slices.Delete(slices.Clone(all), rank, rank+1)
			got, err = levels(context.Background(), install(t, pyramid, f), rest)
			require.NoError(t, err, "it is not wanted")
			assert.Equal(t, rest, got)
		}
	}
	var long []int // the first picture never comes, and the others do not fill the memory
	for i := range 200 {
		long = append(long, i)
	}
	read := 0
	job := install(t, long, &fake{name: "one", at: -1, missing: map[int]error{0: nil}})
	open := job.Open
	job.Open = func(ctx context.Context, i int) (io.Reader, error) { read++; return open(ctx, i) }
	_, err := levels(context.Background(), job, long)
	assert.ErrorIs(t, err, ErrNoPicture)
	assert.Less(t, read, mostWaiting+10)
}

// outcomes decodes frames. It returns the frames' places with an error, after it has checked that each frame comes once, in order, and is
// its own picture.
func outcomes(t *testing.T, job *Job, ranks []int) map[int]error {
	t.Helper()
	failed, place := map[int]error{}, 0
	for frame, err := range Decode(context.Background(), ranks, job.Planes) {
		if err != nil {
			require.ErrorIs(t, err, dataset.ErrCorrupt)
			require.ErrorContains(t, err, fmt.Sprintf("place %d:", place))
			failed[place] = err
		} else {
			b, err := tensor.Data[uint8](frame)
			require.NoError(t, err)
			require.Equal(t, byte(ranks[place]), b[0])
		}
		place++
	}
	require.Len(t, ranks, place)
	return failed
}

// groups are three groups of pictures, each a pyramid with a key frame first.
func groups(t *testing.T, f *fake) (job *Job, ranks []int) {
	for g := range 3 {
		for _, r := range pyramid {
			ranks = append(ranks, 9*g+r)
		}
	}
	job = install(t, ranks, f)
	for i := range job.Packets {
		job.Packets[i].Key = i%9 == 0
	}
	slices.Sort(ranks)
	return job, ranks
}

func TestAPictureThatIsMissingCostsItself(t *testing.T) {
	without(t, "")
	for at := range 27 {
		for _, reason := range []error{nil, ErrHidden, ErrDamaged, ErrUndecodable} {
			f := &fake{name: "one", at: -1, missing: map[int]error{at: reason}}
			job, ranks := groups(t, f)
			failed := outcomes(t, job, ranks)
			require.Len(t, failed, 1)
			if reason == nil {
				reason = ErrNoPicture
			}
			require.ErrorIs(t, failed[int(job.Packets[at].Rank)], reason)
			require.Equal(t, 1, f.opened)
		}
	}
}

func TestDecodingGoesOnAtTheKeyFrameAfterAFailure(t *testing.T) {
	without(t, "")
	broken := errors.New("broken")
	for at := range 27 {
		f := &fake{name: "one", at: at, err: broken}
		job, ranks := groups(t, f)
		failed := outcomes(t, job, ranks)
		require.NotEmpty(t, failed)
		first := slices.Min(slices.Collect(maps.Keys(failed)))
		require.ErrorIs(t, failed[first], broken)
		for place, err := range failed {
			require.LessOrEqual(t, job.packetOf(place), max(at/9*9+8, 0), "packet %d is broken", at)
			require.GreaterOrEqual(t, place, at-3, "the fake shows a picture when two more packets are decoded")
			require.True(t, place == first || errors.Is(err, ErrUndecodable))
		}
		require.Equal(t, f.opened, f.closed)
		require.LessOrEqual(t, f.opened, 2)

		job, ranks = groups(t, f)
		job.Begins = func(packet int) bool { return packet != 9 }
		for place := range outcomes(t, job, ranks) {
			require.True(t, at >= 18 || place < 18, "packet 18 is the next one where decoding can begin")
		}

		job, ranks = groups(t, &fake{name: "one", at: -1})
		open := job.Open
		job.Open = func(ctx context.Context, i int) (io.Reader, error) {
			if i == at {
				return nil, job.Fail(int(job.Packets[i].Rank))
			}
			return open(ctx, i)
		}
		lost := 0
		for _, err := range Decode(context.Background(), ranks, job.Planes) {
			if err != nil {
				lost++
			}
		}
		require.Positive(t, lost)
		require.LessOrEqual(t, lost, 12, "a packet that cannot be read is as one that cannot be decoded")
	}
}

func TestFFmpegGoesOnAtTheKeyFrameAfterAFailure(t *testing.T) {
	for _, codec := range []string{"h264", "av1", "h265", "vp9"}[:thorough.Of(2, 4)] {
		t.Run(codec, func(t *testing.T) {
			v := encode(t, codec)
			install(t, nil)
			t.Setenv("ROBOCACHE_FFMPEG", "")
			v[10] = slices.Clone(v[10])
			clear(v[10][len(v[10])/3:]) // the second group has 8 to 15
			i, failed := 0, 0
			for frame, err := range v.frames(codec).DecodeFrames(context.Background(), 0, 24) {
				if err != nil {
					failed++
					require.ErrorIs(t, err, dataset.ErrCorrupt)
					require.ErrorContains(t, err, fmt.Sprintf("decode frame %d of /video", i))
					require.True(t, i >= 10 && i < 16, i)
				} else if codec != "av1" || i < 10 || i > 15 { // libdav1d does not find this damage
					require.InDelta(t, 10*i, level(t, frame), 4)
				}
				i++
			}
			require.Equal(t, 24, i)
			require.True(t, failed == 6 || codec == "av1", failed)
			for i, lost := range map[int]bool{9: false, 12: codec != "av1", 17: false} {
				_, err := first(v.frames(codec), i)
				require.Equal(t, lost, err != nil, "frame %d alone, as in a sequence", i)
			}
		})
	}
}

func TestCheckNamesWhatIsMissing(t *testing.T) {
	f := &fake{name: "one", open: &Refusal{Driver: "one", Reason: Feature, Err: errors.New("interlaced")}}
	job := install(t, pyramid, f)
	Register(Driver{Name: "two", Library: "libtwo", Open: func(Stream) (Decoder, error) { return nil, &Refusal{Driver: "two", Reason: NoLibrary} }})
	without(t, "exit 1")
	require.NoError(t, job.Check(), "it is not run")
	without(t, "")
	err := job.Check()
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	require.ErrorContains(t, err, "got one: feature (interlaced), two: no library, ffmpeg: no program, want the package libtwo or the package ffmpeg")
	f.open = nil
	require.NoError(t, job.Check())
	require.Equal(t, 1, f.closed)
}

func TestDecodingEndsWithItsContext(t *testing.T) {
	without(t, "")
	for at := range pyramid {
		ctx, cancel := context.WithCancel(context.Background())
		f := &fake{name: "one", at: at, cancel: cancel}
		got, err := levels(ctx, install(t, pyramid, f), all)
		assert.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, all[:len(got)], got)
		assert.LessOrEqual(t, len(got), at)
		assert.Equal(t, 1, f.closed)
	}
	job := install(t, pyramid, &fake{name: "one", at: -1})
	for range Decode(context.Background(), all, job.Planes) {
		break // the decoder is closed
	}
	failed := errors.New("failed")
	job.Open = func(context.Context, int) (io.Reader, error) { return nil, failed }
	_, err := levels(context.Background(), job, all)
	assert.Equal(t, failed, err)
}

func TestFFmpegGoesOnWhereADriverRefuses(t *testing.T) {
	for at := range len(pyramid) + 1 {
		f := &fake{name: "one", at: at, err: &Refusal{Driver: "one", Reason: Feature}}
		job := install(t, pyramid, f)
		without(t, "echo reason >&2; exit 3")
		got, err := levels(context.Background(), job, all)
		require.ErrorIs(t, err, dataset.ErrCorrupt)
		require.ErrorContains(t, err, fmt.Sprintf("place %d:", len(got)))
		assert.Equal(t, all[:len(got)], got)
		without(t, "")
		_, err = levels(context.Background(), job, all)
		require.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, "no program ffmpeg, want it in PATH")
	}
	v := encode(t, "h264").frames("h264")
	t.Setenv("ROBOCACHE_FFMPEG", "")
	f := &fake{name: "one", at: 2, err: &Refusal{Driver: "one", Reason: Feature}}
	f.job = install(t, nil, f)
	f.job.Packets = make([]Packet, 24)
	i := 0
	for frame, err := range v.DecodeFrames(context.Background(), 0, 24) {
		require.NoError(t, err)
		assert.InDelta(t, 10*i, level(t, frame), 4)
		i++
	}
	assert.Equal(t, 24, i)
	assert.Equal(t, 1, f.closed)
}

func TestALibraryCanTakeThePlaceOfFFmpeg(t *testing.T) {
	without(t, "")
	job := install(t, pyramid)
	Register(Driver{Name: "one", Library: "libone", Open: func(Stream) (Decoder, error) { return nil, &Refusal{Driver: "one", Reason: NoLibrary} }})
	Register(Driver{Name: "two", Library: "libtwo", Open: func(Stream) (Decoder, error) { return nil, &Refusal{Driver: "two", Reason: OtherCodec} }})
	_, err := levels(context.Background(), job, all)
	require.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "got no program ffmpeg and no library libone, want one of the packages ffmpeg and libone, ffmpeg in PATH, or its path in ROBOCACHE_FFMPEG")
	var program *ProgramError
	require.ErrorAs(t, err, &program)
	assert.Equal(t, "libone", program.Library)
}

// A frame that does not fit into memory is not damaged.
func TestAPictureThatIsTooLargeIsNoDamage(t *testing.T) {
	without(t, "")
	f := &fake{name: "one", at: -1}
	job := install(t, pyramid, f)
	drivers.list[0].Open = func(Stream) (Decoder, error) { return large{f}, nil }
	_, err := levels(context.Background(), job, all)
	var short *tensor.Error
	assert.ErrorAs(t, err, &short)
	assert.NotErrorIs(t, err, dataset.ErrCorrupt)
}

// The container's colours count where the stream states none, as in ffmpeg.
func TestTheFileMayStateTheColours(t *testing.T) {
	nclx := Atom("colr", []byte("nclx"), []byte{0, 1, 0, 1, 0, 9, 0x80})
	for _, c := range []struct {
		codec  string
		box    []byte
		stated uint8
		matrix uint8
		full   bool
	}{
		{"h264", nclx, unspecified, 9, true}, {"hevc", nclx, unspecified, 9, true}, {"h264", nclx, 1, 1, false}, {"av1", nclx, unspecified, unspecified, false},
		{"h264", nil, unspecified, unspecified, false}, {"h264", Atom("colr", []byte("nclc"), make([]byte, 9)), unspecified, unspecified, false},
		{"h264", nclx[:len(nclx)-1], unspecified, unspecified, false}, {"h264", Atom("colr", []byte("nclx")), unspecified, unspecified, false},
	} {
		job := Job{Codec: c.codec, Entry: slices.Concat(entry("avc1"), Atom("pasp", Words(1, 1)), c.box)}
		p := &Planes{Matrix: c.stated}
		job.colour(p)
		assert.Equal(t, []any{c.matrix, c.full}, []any{p.Matrix, p.FullRange}, "%s % x", c.codec, c.box)
	}
}

type large struct{ *fake }

func (large) Decode(_ []byte, number int64, show Show) error {
	return show(number, &Planes{Width: 1 << 30, Height: 1 << 30, Bits: 8}, nil)
}

// Before version 4.4, ffmpeg's output lacks the colour matrix and the range.
func TestAnOldFFmpegConvertsColours(t *testing.T) {
	v := encode(t, "h264").frames("h264")
	count := filepath.Join(t.TempDir(), "count")
	without(t, `echo "$@" >> `+count+`; ffmpeg "$@" | LC_ALL=C sed 's/Lavf[0-9][0-9].[0-9][0-9]/Lavf58.75/'`)
	for range 2 {
		i := 3
		for frame, err := range v.DecodeFrames(context.Background(), 3, 12) {
			require.NoError(t, err)
			assert.InDelta(t, 10*i, level(t, frame), 4)
			i++
		}
		assert.Equal(t, 12, i)
	}
	b, err := os.ReadFile(count)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2}, []int{bytes.Count(b, []byte("\n")), bytes.Count(b, []byte("format=rgb24,format=gbrp "))}, "the first call finds out")
}
