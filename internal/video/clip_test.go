package video

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

// echo shows a picture for each packet. Its level is the packet's byte.
type echo struct{ broken byte }

func (e echo) Decode(packet []byte, number int64, show Show) error {
	if packet[0] == e.broken {
		return errors.New("broken")
	}
	return show(number, &Planes{Width: 1, Height: 1, Bits: 8, FullRange: true, Data: [3][]byte{packet}, Stride: [3]int{1}}, nil)
}

func (echo) Flush(Show) error { return nil }
func (echo) Close() error     { return nil }

// echoed returns packets with their numbers, that an echo decodes. begins are those where decoding can begin.
func echoed(t *testing.T, n int, broken byte, begins ...int) (f *Frames, opened *int) {
	t.Helper()
	install(t, nil)
	opened = new(int)
	Register(Driver{Name: "echo", Open: func(Stream) (Decoder, error) { *opened++; return echo{broken}, nil }})
	var list packets
	for i := range n {
		list = append(list, []byte{byte(i)})
	}
	f = list.frames("h264")
	f.Packet = func(_ context.Context, i int) (uint32, bool, error) { return 1, slices.Contains(begins, i), nil }
	return f, opened
}

// numbersOf decodes planes, and returns the numbers with a picture and those with an error.
func numbersOf(t *testing.T, c Clip, frames []int) (with []int, lost map[int]error) {
	t.Helper()
	lost = map[int]error{}
	require.NoError(t, c.Planes(t.Context(), frames, "", func(number int64, p *Planes, err error) error {
		if err != nil {
			lost[int(number)] = err
			return nil
		}
		with = append(with, int(number))
		assert.Equal(t, byte(number), p.Data[0][0])
		return nil
	}))
	return with, lost
}

// counted counts the packets that are read.
type counted struct {
	dataset.FrameSource
	read map[int]int
}

func (c counted) ReadFrame(ctx context.Context, i int) ([]byte, error) {
	c.read[i]++
	return c.FrameSource.ReadFrame(ctx, i)
}

func TestPlanesOfFramesWithGapsReadTheirGroupsOnly(t *testing.T) {
	for _, c := range []struct {
		frames       []int
		jobs, packet int
	}{
		{[]int{0, 1, 2}, 1, 3}, {[]int{45}, 1, 6}, {[]int{1, 9, 11, 20}, 1, 10 + 2 + 1}, {[]int{0, 41, 99}, 3, 1 + 2 + 10}, {[]int{9, 20, 90}, 2, 10 + 1 + 1}, {nil, 0, 0},
		{[]int{99}, 1, 10}, {Numbers(0, 100), 1, 100},
	} {
		f, opened := echoed(t, 100, 255, 0, 10, 20, 30, 40, 50, 60, 70, 80, 90)
		count := counted{f.FrameSource, map[int]int{}}
		f.FrameSource = count
		with, lost := numbersOf(t, f, c.frames)
		assert.Equal(t, c.frames, with)
		assert.Empty(t, lost)
		assert.Equal(t, []int{c.jobs, c.packet}, []int{*opened, len(count.read)}, "%v", c.frames)
		for _, n := range count.read {
			assert.Equal(t, 1, n)
		}
	}
}

func TestFramesBeforeTheFirstKeyFrameAreErrorsAndLaterOnesFollow(t *testing.T) {
	f, _ := echoed(t, 30, 255, 7, 20)
	with, lost := numbersOf(t, f, Numbers(2, 30))
	assert.Equal(t, Numbers(7, 30), with)
	require.Len(t, lost, 5)
	for number, err := range lost {
		assert.Less(t, number, 7)
		assert.ErrorIs(t, err, dataset.ErrTruncated)
	}
	f, _ = echoed(t, 30, 255)
	err := f.Planes(t.Context(), []int{3, 5}, "", func(int64, *Planes, error) error { panic("no frame is shown") })
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "decode frame 3 of /video")
}

func TestADamagedPacketCostsTheRestOfItsGroup(t *testing.T) {
	f, _ := echoed(t, 40, 13, 0, 10, 20, 30)
	with, lost := numbersOf(t, f, Numbers(0, 40))
	assert.Equal(t, slices.Concat(Numbers(0, 13), Numbers(20, 40)), with)
	assert.Len(t, lost, 7)
	for number, err := range lost {
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
		assert.ErrorIs(t, err, map[bool]error{true: ErrUndecodable, false: err}[number > 13])
	}
	place := 0
	for _, err := range f.DecodeFrames(t.Context(), 5, 25) {
		assert.Equal(t, lost[5+place] != nil, err != nil)
		place++
	}
	assert.Equal(t, 20, place)
}

func TestPlanesEndWithTheContext(t *testing.T) {
	f, _ := echoed(t, 40, 255, 0, 10, 20, 30)
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	err := f.Planes(ctx, []int{0, 1, 39}, "", func(int64, *Planes, error) error { n++; cancel(); return nil })
	assert.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, 1, n)
}

func TestGroupsOfPackets(t *testing.T) {
	for _, c := range []struct {
		begins   []int
		frame    int
		from, to int
		what     string
	}{
		{[]int{0, 4, 8}, 0, 0, 4, "first"}, {[]int{0, 4, 8}, 4, 4, 8, "key frame"}, {[]int{0, 4, 8}, 7, 4, 8, "last of a group"},
		{[]int{0, 4, 8}, 11, 8, 12, "last"}, {[]int{0}, 5, 0, 12, "one key frame"}, {[]int{3}, 2, 0, 3, "before the first key frame"},
		{[]int{3}, 3, 3, 12, "the first key frame"}, {nil, 5, 0, 12, "none"}, {Numbers(0, 12), 5, 5, 6, "all"},
	} {
		f, _ := echoed(t, 12, 255, c.begins...)
		from, to, err := f.Group(t.Context(), c.frame)
		require.NoError(t, err)
		assert.Equal(t, []int{c.from, c.to}, []int{from, to}, c.what)
	}
	f, _ := echoed(t, 12, 255)
	failed := errors.New("failed")
	f.Packet = func(context.Context, int) (uint32, bool, error) { return 0, false, failed }
	_, _, err := f.Group(t.Context(), 3)
	assert.Equal(t, failed, err)
	assert.ErrorIs(t, f.Planes(t.Context(), []int{3}, "", nil), failed)
}

func TestNumbersThatThereAreNotAreErrors(t *testing.T) {
	f, _ := echoed(t, 12, 255, 0)
	var out *dataset.RangeError
	assert.ErrorAs(t, f.Planes(t.Context(), []int{-1, 3}, "", nil), &out)
	assert.ErrorAs(t, f.Planes(t.Context(), []int{3, 12}, "", nil), &out)
	for _, frame := range []int{-1, 12} {
		_, _, err := f.Group(t.Context(), frame)
		assert.ErrorAs(t, err, &out)
	}
}

// lender lends a source, and counts the loans.
type lender struct {
	dataset.FrameSource
	open, loans int
	err         error
}

func (l *lender) Borrow(context.Context) (dataset.FrameSource, func(), error) {
	l.open++
	l.loans++
	return l.FrameSource, func() { l.open-- }, l.err
}

func TestALentVideoIsAClip(t *testing.T) {
	f, _ := echoed(t, 12, 255, 0, 6)
	l := &lender{FrameSource: f}
	c, is := AsClip(l)
	require.True(t, is)
	with, _ := numbersOf(t, c, []int{2, 9})
	assert.Equal(t, []int{2, 9}, with)
	from, to, err := c.Group(t.Context(), 9)
	require.NoError(t, err)
	assert.Equal(t, []int{6, 12, 0, 2}, []int{from, to, l.open, l.loans})
	l.err = errors.New("closed")
	assert.Equal(t, l.err, c.Planes(t.Context(), nil, "", nil))
	l.FrameSource, l.err = packets{}, nil
	assert.ErrorIs(t, c.Planes(t.Context(), nil, "", nil), dataset.ErrUnsupported)
	_, is = AsClip(packets{})
	assert.False(t, is)
	c, is = AsClip(f)
	assert.True(t, is && c == Clip(f))
}
