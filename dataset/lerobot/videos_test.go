package lerobot_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

const camera = "observation.images.front"

// filmed is a dataset of 30 frames a second with a video of 24 frames, or of three times those, joined.
func filmed(t testing.TB, lengths ...int) *made {
	m := make3(t)
	m.lengths = lengths
	m.info["fps"] = 30
	m.column("timestamp", "float32", f32, nil, func(row int) any { _, f := m.where(row); return float32(f) / 30 })
	m.features[camera] = map[string]any{"dtype": "video", "shape": []int{64, 64, 3}, "names": []string{"height", "width", "channels"}}
	m.order = append(m.order, camera)
	m.info["video_path"] = nil
	return m
}

func (m *made) film(name, to string) {
	b, err := os.ReadFile(filepath.Join("../mp4/testdata", name))
	require.NoError(m.t, err)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(m.path(to)), 0o755))
	require.NoError(m.t, os.WriteFile(m.path(to), b, 0o644))
}

// shots are the frames of a video as they are encoded.
func shots(t testing.TB, name string) (list [][]byte) {
	f, err := mp4.Open(filepath.Join("../mp4/testdata", name))
	require.NoError(t, err)
	defer f.Close()
	track, err := f.Video()
	require.NoError(t, err)
	for i := range track.Len() {
		b, err := track.ReadFrame(context.Background(), i)
		require.NoError(t, err)
		list = append(list, b)
	}
	return list
}

// shows asserts that a media stream has these frames.
func shows(t *testing.T, want [][]byte, m *dataset.Media) {
	t.Helper()
	require.Equal(t, len(want), m.Len())
	for i := range want {
		got, err := m.Frame(context.Background(), i)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want[i], got), "frame %d", i)
	}
}

const film2 = "videos/chunk-000/" + camera + "/episode_000000.mp4"

func TestAVideoOfOneEpisode(t *testing.T) {
	list := shots(t, "h264_front.mp4")
	require.Len(t, list, 24)
	one := func(rows int, change func(m *made), opt lerobot.Options) *dataset.Episode {
		m := filmed(t, rows)
		if change != nil {
			change(m)
		}
		m.film("h264_front.mp4", film2)
		return episode(t, open(t, m.write2(), opt), 0)
	}
	e := one(24, nil, lerobot.Options{})
	assert.Nil(t, e.Notes.Damage())
	require.Len(t, e.Media, 1)
	assert.Equal(t, []any{"h264", 64, 64}, []any{e.Media[0].Encoding, e.Media[0].Width, e.Media[0].Height})
	assert.Equal(t, e.Streams[0].Nanoseconds(), e.Media[0].Times)
	shows(t, list, &e.Media[0])

	e = one(26, nil, lerobot.Options{})
	shows(t, list, &e.Media[0])
	assert.Equal(t, e.Streams[0].Nanoseconds()[:24], e.Media[0].Times)
	assert.Equal(t, dataset.CodeRowWithoutFrame, e.Notes.Damage()[0].Code)
	assert.Equal(t, 2, e.Notes.Damage()[0].Count)

	e = one(20, nil, lerobot.Options{})
	shows(t, list[:20], &e.Media[0])
	assert.Equal(t, dataset.CodeFrameWithoutRow, e.Notes.Damage()[0].Code)
	assert.Equal(t, 4, e.Notes.Damage()[0].Count)

	// Rows are missing in the table, and the video has all frames.
	e = one(5, func(m *made) {
		frames := []int{0, 1, 4, 5, 9}
		m.column("frame_index", "int64", i64, nil, func(row int) any { return frames[row] })
		m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(frames[row]) / 30 })
	}, lerobot.Options{})
	shows(t, [][]byte{list[0], list[1], list[4], list[5], list[9]}, &e.Media[0])

	// The timestamps begin late: the last row has none of the video's times, so the frames are counted.
	e = one(24, func(m *made) {
		m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(row+1) / 30 })
	}, lerobot.Options{Clock: "timestamp"})
	shows(t, list, &e.Media[0])
	assert.Equal(t, dataset.CodeVideoTimes, e.Notes.Damage()[0].Code)

	// A rate of the caller's is for the clock, not for finding frames.
	e = one(24, nil, lerobot.Options{Rate: 10})
	assert.Nil(t, e.Notes.Damage())
	shows(t, list, &e.Media[0])
	assert.Equal(t, int64(23e8), e.Media[0].Times[23])
}

func TestAVideoOfSeveralEpisodes(t *testing.T) {
	list := shots(t, "joined.mp4")
	require.Len(t, list, 72)
	s := open(t, joined(filmed(t, 24, 24, 24), []float64{0, 0.8, 1.6}), lerobot.Options{})
	for i := range 3 {
		e := episode(t, s, i)
		assert.Nil(t, e.Notes.Damage())
		shows(t, list[24*i:24*i+24], &e.Media[0])
	}
	// A table of more rows than the video has frames does not get those of the next episode.
	e := episode(t, open(t, joined(filmed(t, 24, 26, 22), []float64{0, 0.8, 1.6}), lerobot.Options{}), 1)
	shows(t, list[24:48], &e.Media[0])
	assert.Equal(t, 2, e.Notes.Damage()[0].Count)
	// Times that drift by less than half a frame still find the frames, and are told.
	e = episode(t, open(t, joined(filmed(t, 24, 24, 24), []float64{0, 0.802, 1.6}), lerobot.Options{}), 1)
	shows(t, list[24:48], &e.Media[0])
	assert.Equal(t, dataset.CodeFrameDrift, e.Notes.Damage()[0].Code)
	assert.Equal(t, 24, e.Notes.Damage()[0].Count)
	first := episode(t, s, 0)
	require.NoError(t, s.Close())
	_, err := first.Media[0].Frame(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestAFolderInThePlaceOfAVideoCostsItself(t *testing.T) {
	m := filmed(t, 24)
	dir := m.write2()
	require.NoError(t, os.MkdirAll(m.path(film2), 0o755))
	s := open(t, dir, lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeFilesMissing, Subject: "feature " + camera, Count: 1, Detail: dataset.Detail{Of: 1, Names: []string{film2}}})
	e := episode(t, s, 0)
	assert.Equal(t, []string{"action"}, e.Names())
	require.Len(t, e.Notes, 1)
	assert.Contains(t, e.Notes[0].Reason(), "want a regular file")
}

func TestVideosThatAreNotThere(t *testing.T) {
	m := filmed(t, 24)
	s := open(t, m.write2(), lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeFilesMissing, Subject: "feature " + camera, Count: 1, Detail: dataset.Detail{Of: 1, Names: []string{film2}}})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeMediaFileMissing, Subject: camera, Count: 24, Detail: dataset.Detail{Names: []string{film2}}}}, episode(t, s, 0).Notes)

	m.film("fragmented.mp4", film2)
	e := episode(t, open(t, m.dir, lerobot.Options{}), 0)
	require.Len(t, e.Notes, 1)
	assert.Contains(t, e.Notes[0].Reason(), "fragmented")
	filetest.Write(t, m.path(film2), "no video")
	e = episode(t, open(t, m.dir, lerobot.Options{}), 0)
	assert.Equal(t, dataset.CodeColumnUnreadable, e.Notes.Damage()[0].Code)
	assert.Len(t, e.Streams, 1)

	m = filmed(t, 24)
	s = open(t, m.write(), lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeVideoUnlocated, Subject: "feature " + camera, Count: 1, Row: dataset.At(0)}, "meta/episodes does not locate it")
	assert.Equal(t, dataset.CodeVideoUnplaced, episode(t, s, 0).Notes[0].Code)
	m = filmed(t, 24)
	m.info["video_path"] = "../../{video_key}.mp4"
	s = open(t, m.write2(), lerobot.Options{})
	contains(t, problems(s), "leads out of the dataset")
}

// joined is a dataset of version 3 whose episodes are in one video of three times 24 frames, from these times on, 0.8 s each.
func joined(m *made, from []float64) string {
	dir := m.write()
	m.film("joined.mp4", "videos/"+camera+"/chunk-000/file-000.mp4")
	m.writeEpisodes([]column{
		{"videos/" + camera + "/chunk_index", i64, 0, func(int) any { return 0 }},
		{"videos/" + camera + "/file_index", i64, 0, func(int) any { return 0 }},
		{"videos/" + camera + "/from_timestamp", f64, 0, func(e int) any { return from[e] }},
		{"videos/" + camera + "/to_timestamp", f64, 0, func(e int) any { return from[e] + 0.8 }},
	})
	return dir
}

func TestADriftOfMoreThanAFrameStillFindsTheFrames(t *testing.T) {
	list := shots(t, "joined.mp4")
	dir := joined(filmed(t, 24, 24, 24), []float64{0, 0.85, 1.65})
	s := open(t, dir, lerobot.Options{})
	assert.Nil(t, episode(t, s, 0).Notes.Damage())
	for i := 1; i < 3; i++ {
		e := episode(t, s, i)
		shows(t, list[24*i:24*i+24], &e.Media[0])
		require.Len(t, e.Notes.Damage(), 1)
		assert.Equal(t, dataset.CodeVideoTimes, e.Notes.Damage()[0].Code)
		assert.Contains(t, e.Notes.Damage()[0].Cause.(*dataset.FormatError).Want, fmt.Sprintf("%d: the ones before", 24*i))
	}
}

// A recorder may lose a frame where an episode begins. The other rows have theirs.
func TestAnEpisodesFirstRowMayHaveNoFrame(t *testing.T) {
	m := filmed(t, 24, 24, 23)
	dir := joined(m, []float64{2. / 30, 26./30 - 5e-5, 50. / 30})                                   // the video begins after two frames, without its edit list
	retime(t, m.path("videos/"+camera+"/chunk-000/file-000.mp4"), 15360, 23, 512, 1, 1024, 48, 512) // frame 23 takes the time of two
	e := episode(t, open(t, dir, lerobot.Options{}), 1)
	shows(t, shots(t, "joined.mp4")[24:47], &e.Media[0])
	assert.Equal(t, e.Streams[0].Nanoseconds()[1:], e.Media[0].Times)
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, []any{dataset.CodeRowWithoutFrame, 1}, []any{e.Notes.Damage()[0].Code, e.Notes.Damage()[0].Count})
}

func TestEpisodesThatOverlapInAVideoAreTold(t *testing.T) {
	s := open(t, joined(filmed(t, 24, 24, 24), []float64{0, 0, 0}), lerobot.Options{})
	hasProblem(t, s, dataset.Note{Code: dataset.CodeVideoOverlap, Subject: "feature " + camera, Count: 2, Row: dataset.At(1), Detail: dataset.Detail{Got: "1-2"}})
	for _, p := range problems(open(t, joined(filmed(t, 24, 24, 24), []float64{0, 0.799, 1.599}), lerobot.Options{})) {
		assert.NotContains(t, p, dataset.CodeVideoOverlap.String())
	}
}

func TestFramesThatNoRowHasAreCountedInAnyVersion(t *testing.T) {
	list := shots(t, "joined.mp4")
	e := episode(t, open(t, joined(filmed(t, 22, 24, 24), []float64{0, 0.8, 1.6}), lerobot.Options{}), 0)
	shows(t, list[:22], &e.Media[0])
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, []any{dataset.CodeFrameWithoutRow, 2}, []any{e.Notes.Damage()[0].Code, e.Notes.Damage()[0].Count})
}

// A file with more frames than its episodes have rows is another one, or its index is.
func TestFramesOfAFileThatNoEpisodeHasAreCounted(t *testing.T) {
	for _, c := range []struct {
		name    string
		lengths []int
		from    []float64
		frames  []int // that no row has, by episode
	}{
		{"at the end", []int{24, 24}, []float64{0, 0.8}, []int{0, 24}},
		{"before the first", []int{24, 24}, []float64{0.8, 1.6}, []int{24, 0}},
		{"between", []int{24, 24}, []float64{0, 1.6}, []int{24, 0}},
		{"of one that is shorter", []int{24, 20}, []float64{0, 0.8}, []int{0, 28}},
		{"that only seem to be outside", []int{24, 24, 24}, []float64{0, 0.8005, 1.5995}, []int{0, 0, 0}},
	} {
		s := open(t, joined(filmed(t, c.lengths...), c.from), lerobot.Options{})
		for i, want := range c.frames {
			got := 0
			e := episode(t, s, i)
			for _, d := range e.Notes.Damage() {
				if d.Code == dataset.CodeFrameWithoutRow {
					assert.NotNil(t, e.Notes.Find(dataset.CodeFramesWithoutEpisode))
					got += d.Count
				}
			}
			assert.Equal(t, want, got, "%s, episode %d", c.name, i)
		}
	}
}

func TestAVideoOfHalfTheRateHasEveryOtherRow(t *testing.T) {
	m := filmed(t, 48)
	m.info["fps"] = 60
	m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(row) / 60 })
	m.film("h264_front.mp4", film2)
	e := episode(t, open(t, m.write2(), lerobot.Options{}), 0)
	shows(t, shots(t, "h264_front.mp4"), &e.Media[0])
	for i, at := range e.Media[0].Times {
		assert.Equal(t, e.Streams[0].Nanoseconds()[2*i], at)
	}
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, []any{dataset.CodeRowWithoutFrame, 24}, []any{e.Notes.Damage()[0].Code, e.Notes.Damage()[0].Count})
}

func TestFramesAreFoundWhereNobodySaysHowManyThereAreASecond(t *testing.T) {
	for _, rate := range []float64{0, 30} {
		m := filmed(t, 24, 24, 24)
		m.info["fps"] = nil
		e := episode(t, open(t, joined(m, []float64{0, 0.8, 1.6}), lerobot.Options{Rate: rate}), 1)
		assert.Nil(t, e.Notes.Damage())
		shows(t, shots(t, "joined.mp4")[24:48], &e.Media[0])
	}
}

// cutVideo puts the list of frames of a video before them, and cuts it in a frame, which find finds, as some are there several times.
func cutVideo(t *testing.T, m *made, name string, whole int, find func(b, frame []byte) int) {
	b := filetest.Read(t, m.path(name))
	list := shots(t, "joined.mp4")
	at := find(b, list[whole])
	require.Positive(t, at)
	moov := bytes.Index(b, []byte("moov")) - 4
	require.Greater(t, moov, at)
	size := int(binary.BigEndian.Uint32(b[moov:]))
	head := bytes.Clone(b[moov : moov+size]) // in the place of what was first: 8 bytes of mdat's head stay behind
	stco := bytes.Index(head, []byte("stco"))
	for i := range int(binary.BigEndian.Uint32(head[stco+8:])) {
		entry := head[stco+12+4*i:]
		binary.BigEndian.PutUint32(entry, binary.BigEndian.Uint32(entry)+uint32(size))
	}
	filetest.Write(t, m.path(name), append(head, b[:at+1]...))
}

func TestACutVideoCostsTheEpisodesAtItsEndOnly(t *testing.T) {
	m := filmed(t, 24, 24, 24)
	dir := joined(m, []float64{0, 0.8, 1.6})
	cutVideo(t, m, "videos/"+camera+"/chunk-000/file-000.mp4", 60, bytes.LastIndex)
	s := open(t, dir, lerobot.Options{Strict: true})
	list := shots(t, "joined.mp4")
	shows(t, list[:24], &episode(t, s, 0).Media[0])
	shows(t, list[24:48], &episode(t, s, 1).Media[0])
	_, err := s.Episode(context.Background(), 2)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	e := episode(t, open(t, dir, lerobot.Options{}), 2)
	left := &e.Media[0]
	rows := e.Streams[0].Nanoseconds()
	require.Positive(t, left.Len())
	for i, at := range left.Times { // those before the cut in the file are some that are shown behind it
		got, err := left.Frame(context.Background(), i)
		require.NoError(t, err)
		assert.Equal(t, list[48+slices.Index(rows, at)], got)
	}
	assert.Equal(t, 24-left.Len(), e.Notes.Find(dataset.CodeFrameCut).Count)
	assert.Equal(t, camera, e.Notes.Find(dataset.CodeBoxCut).Subject)
}

// Frames that a file of several episodes lacks are counted once, each by its own episode.
func TestFramesThatACutVideoLacksAreCountedOnce(t *testing.T) {
	m := filmed(t, 24, 24, 24)
	dir := joined(m, []float64{0, 0.8, 1.6})
	cutVideo(t, m, "videos/"+camera+"/chunk-000/file-000.mp4", 12, bytes.Index)
	s, lost, lacks := open(t, dir, lerobot.Options{}), 0, 72
	for i := range 3 {
		e := episode(t, s, i)
		for _, d := range e.Notes.Damage() {
			if d.Code == dataset.CodeFrameCut {
				lost += d.Count
			}
		}
		for k := range e.Media {
			lacks -= e.Media[k].Len()
		}
	}
	assert.Greater(t, lost, 24)
	assert.Equal(t, lacks, lost)
}

// An episode's video is a part of its file. Rows may have the same frame.
func TestAnEpisodesVideoIsAClip(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	s := open(t, joined(filmed(t, 24, 24, 24), []float64{0, 0.8, 1.6}), lerobot.Options{})
	m := &episode(t, s, 1).Media[0]
	source := m.Source.(*footage.Source)
	clip, is := video.AsClip(source)
	require.True(t, is)
	from, to, err := clip.Group(t.Context(), 9)
	require.NoError(t, err)
	assert.Equal(t, []int{8, 16}, []int{from, to}, "each 8 frames of the file")
	var want []*tensor.Tensor
	for frame, err := range m.DecodeRange(t.Context(), 0, 24) {
		require.NoError(t, err)
		want = append(want, frame)
	}
	frames := []int{0, 3, 22}
	for frame, err := range video.Decode(t.Context(), frames, clip.Planes) {
		require.NoError(t, err)
		assert.Equal(t, want[frames[0]], frame)
		frames = frames[1:]
	}
	assert.Empty(t, frames)

	repeated := &footage.Source{Videos: source.Videos, Path: source.Path, Frames: []int32{20, 20, 21, 24, 24, 24, 31, 32}}
	from, to, err = repeated.Group(t.Context(), 4)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 7}, []int{from, to}, "file frames 24 to 31")
	i := 2
	for frame, err := range repeated.DecodeFrames(t.Context(), 2, 7) {
		require.NoError(t, err)
		if at := int(repeated.Frames[i]) - 24; at >= 0 {
			assert.Equal(t, want[at], frame)
		}
		i++
	}
	assert.Equal(t, 7, i)
	var out *dataset.RangeError
	assert.ErrorAs(t, repeated.Planes(t.Context(), []int{8}, "", nil), &out)
	_, _, err = repeated.Group(t.Context(), 8)
	assert.ErrorAs(t, err, &out)
}
