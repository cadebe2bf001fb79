package lerobot_test

import (
	"context"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// Rows may have a video's frames in any order, several rows one frame: each row's picture is the one of its frame, and groups follow each
// other without a gap.
func TestRowsThatStepBackHaveTheirPictures(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("ffmpeg is not here: ", err)
	}
	ctx := context.Background()
	decoded := func(stamps []float32) (pictures [][]byte, groups [][2]int) {
		m := filmed(t, len(stamps))
		m.info["fps"], m.info["splits"] = 10, map[string]any{"train": "0:1"}
		m.column("timestamp", "float32", f32, nil, func(row int) any { return stamps[row] })
		dir := m.write2()
		m.film("av1.mp4", film2)
		retime(t, m.path(film2), 1000, 24, 100)
		e := episode(t, open(t, dir, lerobot.Options{VideoBackend: "pyav", Clock: "frame_index"}), 0)
		require.Len(t, e.Media, 1)
		require.Equal(t, len(stamps), e.Media[0].Len())
		for picture, err := range e.Media[0].DecodeRange(ctx, 0, len(stamps)) {
			require.NoError(t, err)
			list, err := tensor.Data[uint8](picture)
			require.NoError(t, err)
			pictures = append(pictures, slices.Clone(list))
		}
		for row := range stamps {
			from, to, err := video.GroupOf(ctx, e.Media[0].Source, len(stamps), row)
			require.NoError(t, err)
			groups = append(groups, [2]int{from, to})
		}
		return pictures, groups
	}
	var all []float32
	for i := range 24 {
		all = append(all, float32(i)/10)
	}
	want, _ := decoded(all)
	require.NotEqual(t, want[1], want[17])
	rows := []int{20, 1, 2, 17, 17, 3, 0, 23, 9}
	stamps := make([]float32, len(rows))
	for i, frame := range rows {
		stamps[i] = all[frame]
	}
	got, groups := decoded(stamps)
	require.Len(t, got, len(rows))
	for row, frame := range rows {
		assert.Equal(t, want[frame], got[row], "row %d", row)
		assert.LessOrEqual(t, groups[row][0], row)
		assert.Greater(t, groups[row][1], row)
	}
}

// An episode that begins after the end of its video has no frame, not one of another episode.
func TestAnEpisodeAfterTheEndOfItsVideoHasNoFrames(t *testing.T) {
	m := filmed(t, 3)
	m.info["fps"], m.info["splits"] = 10, map[string]any{"train": "0:1"}
	m.column("timestamp", "float32", f32, nil, func(row int) any { return float32(row) / 10 })
	dir := joined(m, []float64{2.6})
	path := "videos/" + camera + "/chunk-000/file-000.mp4"
	m.film("av1.mp4", path)
	retime(t, m.path(path), 1000, 24, 100)
	e := episode(t, open(t, dir, lerobot.Options{}), 0)
	assert.Empty(t, e.Media)
	note := e.Notes.Find(dataset.CodeRowWithoutFrame)
	require.NotNil(t, note)
	assert.Equal(t, 3, note.Count)
}
