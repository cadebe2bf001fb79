package mp4

import (
	"context"
	"encoding/binary"
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

func TestAllWaysToSayWhereFramesAre(t *testing.T) {
	wide := newMovie()
	wide.media, wide.mdatSize = append(make([]byte, 0), "0123456789012345678901234567890123456789"...), "64 bits"
	end := newMovie()
	end.mdatSize = "to the end"
	head := uint32(len(end.bytes()) - 40)
	for name, c := range map[string]struct {
		m    *movie
		want []int64
	}{
		"as it is":             {newMovie(), []int64{24, 34, 44, 54}},
		"one size":             {newMovie().with("stsz", 0, 10, 4), []int64{24, 34, 44, 54}},
		"sizes of 4 bits":      {newMovie().with("stz2", 0, 4, 4, 0xaaaa0000), []int64{24, 34, 44, 54}},
		"sizes of 8 bits":      {newMovie().with("stz2", 0, 8, 4, 0x0a0a0a0a), []int64{24, 34, 44, 54}},
		"sizes of 16 bits":     {newMovie().with("stz2", 0, 16, 4, 0x000a000a, 0x000a000a), []int64{24, 34, 44, 54}},
		"places of 64 bits":    {newMovie().with("co64", 0, 2, 0, 24, 0, 44), []int64{24, 34, 44, 54}},
		"runs of chunks":       {newMovie().with("stsc", 0, 2, 1, 3, 1, 2, 1, 1), []int64{24, 34, 44, 44}},
		"a box of 64 bits":     {wide.with("stco", 0, 1, 32).with("stsc", 0, 1, 1, 4, 1), []int64{32, 42, 52, 62}},
		"a box to the end":     {end.with("stco", 0, 2, head, head+20), []int64{int64(head), int64(head) + 10, int64(head) + 20, int64(head) + 30}},
		"chunks in disorder":   {newMovie().with("stco", 0, 2, 44, 24), []int64{44, 54, 24, 34}},
		"offsets of time":      {newMovie().with("ctts", 0, 2, 2, 25, 2, 0), []int64{44, 24, 54, 34}},
		"offsets of time < 0":  {newMovie().with("ctts", 1<<24, 2, 2, 0, 2, math.MaxUint32-24), []int64{44, 24, 54, 34}},
		"times of several len": {newMovie().with("stts", 0, 2, 1, 5, 3, 6), []int64{24, 34, 44, 54}},
	} {
		v := c.m.must(t)
		assert.Equal(t, c.want, where(v), name)
		assert.Empty(t, v.Notes.Damage(), name)
		for i := range v.Len() {
			b, err := v.ReadFrame(context.Background(), i)
			require.NoError(t, err, name)
			assert.Equal(t, "0123456789", string(b), name)
			assert.True(t, v.Key(i), "%s: without a list all are key frames", name)
		}
	}
}

func TestKeyFramesAreThoseOfTheList(t *testing.T) {
	v := newMovie().with("stss", 0, 2, 1, 3).with("ctts", 0, 2, 2, 25, 2, 0).must(t) // shown: samples 3, 1, 4, 2
	assert.Equal(t, []bool{true, true, false, false}, []bool{v.Key(0), v.Key(1), v.Key(2), v.Key(3)})
}

// The rate is that of mov_read_trak in ffmpeg, or else of ff_rfps_calculate, which looks at frames 4 to 20.
func TestBaseRateIsThatOfTheUsualLength(t *testing.T) {
	for _, c := range []struct {
		want float64
		runs []uint32 // counts and ticks of 10 ms
	}{
		{10, []uint32{4, 10}}, {10, []uint32{3, 10, 1, 7}}, {0, []uint32{2, 10, 2, 7}}, {0, []uint32{4, 0}},
		{10, []uint32{3, 7, 17, 10, 5, 9}}, {50, []uint32{3, 7, 9, 4, 9, 6}}, {0, []uint32{4, 10, 12, 9}}, {0, []uint32{3, 7, 10, 4, 9, 5}},
	} {
		n := uint32(0)
		for i := 0; i < len(c.runs); i += 2 {
			n += c.runs[i]
		}
		m := newMovie().with("stts", append([]uint32{0, uint32(len(c.runs) / 2)}, c.runs...)...).with("stsz", 0, 1, n).with("stsc", 0, 1, 1, n, 1).with("stco", 0, 1, 24)
		v := m.must(t)
		require.Equal(t, int(n), v.Len())
		assert.Equal(t, c.want, v.BaseRate(), "%v", c.runs)
	}
}

func TestEditLists(t *testing.T) {
	const speed = 1 << 16
	empty := uint32(math.MaxUint32)
	for name, c := range map[string]struct {
		m     *movie
		want  []int64
		first int64
	}{
		"all":                        {newMovie().edit(0, 1, 400, 0, speed), []int64{0, 10, 20, 30}, 24},
		"duration 0 is to the end":   {newMovie().edit(0, 1, 0, 10, speed), []int64{0, 10, 20}, 34},
		"late":                       {newMovie().edit(0, 2, 50, empty, speed, 400, 0, speed), []int64{5, 15, 25, 35}, 24},
		"version 1":                  {newMovie().edit(1, 1, 0, 400, 0, 20, speed), []int64{0, 10}, 44},
		"two parts in another order": {newMovie().edit(0, 2, 200, 20, speed, 200, 0, speed), []int64{0, 10, 20, 30}, 44},
		"with a pause":               {newMovie().edit(0, 3, 100, 0, speed, 100, empty, speed, 100, 30, speed), []int64{0, 20}, 24},
		"begins inside a frame":      {newMovie().edit(0, 1, 400, 3, speed), []int64{0, 10, 20}, 34},
	} {
		v := c.m.must(t)
		assert.Equal(t, c.want, v.ticks, name)
		assert.Equal(t, c.first, where(v)[0], name)
		assert.Equal(t, 4-len(c.want), v.Hidden, name)
	}
}

func TestWhatIsRefusedByName(t *testing.T) {
	const speed = 1 << 16
	extern, sound, twice := newMovie(), newMovie(), newMovie()
	extern.dref = atom("url ", words(0), []byte("http://there\x00"))
	sound.handle = "soun"
	twice.edit(0, 2, 400, 0, speed, 400, 0, speed)
	fragments, long := newMovie(), newMovie()
	long.movie = 1
	fragments.mvex = atom("mvex")
	for want, c := range map[string]struct {
		m    *movie
		kind error
	}{
		"another file":              {extern, dataset.ErrUnsupported},
		"fragmented":                {fragments, dataset.ErrUnsupported},
		"speed":                     {newMovie().edit(0, 1, 400, 0, 2*speed), dataset.ErrUnsupported},
		"shows sample 1 twice":      {twice, dataset.ErrUnsupported},
		"description":               {newMovie().with("stsc", 0, 2, 1, 2, 1, 2, 2, 2), dataset.ErrUnsupported},
		"video track":               {sound, dataset.ErrNotFound},
		"mdhd: timescale":           {&movie{movie: 1, handle: "vide"}, dataset.ErrCorrupt},
		"146 years":                 {newMovie().with("stts", 0, 1, 4, math.MaxUint32).slow(), dataset.ErrCorrupt},
		"times of a track":          {long.edit(1, 1, 1<<30, 0, 0, 0, speed), dataset.ErrCorrupt},
		"4, 8 or 16":                {newMovie().with("stz2", 0, 5, 4, 0), dataset.ErrCorrupt},
		"none of stts":              {&movie{movie: 1, scale: 1, handle: "vide"}, dataset.ErrCorrupt},
		"at most":                   {newMovie().with("stsz", 0, 1, math.MaxUint32), dataset.ErrTooLarge},
		"rising numbers":            {newMovie().with("stsc", 0, 2, 1, 2, 1, 1, 2, 1), dataset.ErrCorrupt},
		"stsc: first chunk":         {newMovie().with("stsc", 0, 1, 2, 2, 1), dataset.ErrCorrupt},
		"one with all frames liste": {fragments, dataset.ErrUnsupported},
	} {
		_, err := c.m.track()
		assert.ErrorIs(t, err, c.kind, want)
		assert.ErrorContains(t, err, want)
	}
}

// slow makes a tick a second.
func (m *movie) slow() *movie { m.scale = 1; return m }

func TestWhatATableLeavesOutIsCounted(t *testing.T) {
	for name, c := range map[string]struct {
		m      *movie
		frames int
		what   dataset.Code
		count  int
	}{
		"times":                  {newMovie().with("stts", 0, 1, 3, 10), 3, dataset.CodeFrameUnlisted, 1},
		"offsets":                {newMovie().with("ctts", 0, 1, 1, 10), 1, dataset.CodeFrameUnlisted, 3},
		"chunks":                 {newMovie().with("stco", 0, 1, 24), 2, dataset.CodeFrameUnlisted, 2},
		"sizes":                  {newMovie().with("stsz", 0, 0, 5, 10, 10, 10, 10), 4, dataset.CodeFrameTableShort, 1},
		"a table's end":          {newMovie().with("stco", 0, 3, 24, 44), 4, dataset.CodeFrameTableShort, 1},
		"sizes of 4 bits":        {newMovie().with("stz2", 0, 16, 4, 0x000a000a), 2, dataset.CodeFrameUnlisted, 2},
		"behind the file's end":  {newMovie().with("stco", 0, 2, 24, 1<<30), 2, dataset.CodeFrameCut, 2},
		"at the end of 64 bits":  {newMovie().with("co64", 0, 2, 0, 24, math.MaxUint32, math.MaxUint32), 2, dataset.CodeFrameCut, 2},
		"frames without bytes":   {newMovie().with("stsz", 0, 0, 4, 10, 0, 20, 0), 2, dataset.CodeFrameCut, 2},
		"many where there is no": {newMovie().with("stsz", 0, 0, math.MaxUint32, 10, 10), 2, dataset.CodeFrameTableShort, 1},
	} {
		v := c.m.must(t)
		assert.Equal(t, c.frames, v.Len(), name)
		require.Len(t, v.Notes.Damage(), 1, name)
		assert.Equal(t, c.what, v.Notes.Damage()[0].Code, name)
		assert.Equal(t, c.count, v.Notes.Damage()[0].Count, name)
	}
}

func TestTheDescriptionIsThatOfTheFile(t *testing.T) {
	m := newMovie()
	m.entry, m.extra = "ap4h", atom("colr", words(0))
	v := m.must(t)
	assert.Equal(t, "ap4h", v.Codec)
	assert.Nil(t, v.Config)
	assert.Equal(t, []int{64, 48}, []int{v.Width, v.Height})
	m.entry, m.extra = "avc1", append(atom("colr", words(0)), atom("avcC", []byte("config"))...)
	assert.Equal(t, "config", string(m.must(t).Config))
}

func TestTheFirstVideoTrackIsTaken(t *testing.T) {
	m := newMovie()
	m.other = atom("trak", atom("mdia", atom("hdlr", words(0, 0), []byte("soun"), make([]byte, 13))))
	assert.Equal(t, 4, m.must(t).Len())
}

func TestAHostileFileTakesLittleMemory(t *testing.T) {
	// A run of chunks with billions of samples, and as many times; each would take gigabytes if it were believed.
	huge := newMovie().with("stsc", 0, 1, 1, math.MaxUint32, 1).with("stts", 0, 1, math.MaxUint32, math.MaxUint32).with("stsz", 0, 1, 100)
	huge.media = make([]byte, 1000)
	var v *Track
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const runs = 100
	for range runs {
		v, _ = huge.track()
	}
	runtime.ReadMemStats(&after)
	require.NotNil(t, v)
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/runs, uint64(1<<16))
	nothing := binary.BigEndian.AppendUint64(append(words(1), "moov"...), math.MaxUint64)
	assert.Less(t, testing.AllocsPerRun(10, func() { _, _ = open(nothing) }), 50.0)
}
