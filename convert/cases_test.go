package convert

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// caseOf returns the path of a shared case.
func caseOf(t *testing.T, name string) string {
	path := filepath.Join("../../shared/cases", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no shared recordings: %v", err)
	}
	return path
}

// sameFiles requires that two folders have the same bytes, but for the report.
func sameFiles(t *testing.T, want, got string) {
	n := 0
	require.NoError(t, filepath.WalkDir(want, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "convert.json" {
			return err
		}
		rel, err := filepath.Rel(want, path)
		n++
		assert.Equal(t, filetest.Read(t, path), filetest.Read(t, filepath.Join(got, rel)), rel)
		return err
	}))
	assert.Positive(t, n)
}

func TestFolderOfLerobotReencodesVideo(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	parts := caseOf(t, "folder-of-lerobot-reencodes-video/parts")
	dir, to := t.TempDir(), leRobot(t, LeRobotOptions{})
	list, err := filepath.Glob(filepath.Join(parts, "*"))
	require.NoError(t, err)
	converts(t, filepath.Join(dir, "list"), to, Options{}, list...)
	converts(t, filepath.Join(dir, "folder"), to, Options{}, parts)
	sameFiles(t, filepath.Join(dir, "list"), filepath.Join(dir, "folder"))
	converts(t, filepath.Join(dir, "again"), to, Options{Shards: 2}, parts)
	converts(t, filepath.Join(dir, "joined"), to, Options{}, filepath.Join(dir, "again"))
	sameFiles(t, filepath.Join(dir, "list"), filepath.Join(dir, "joined"))
}

func TestDoctorErrorOnOwnShard(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "parts")
	converts(t, out, leRobot(t, LeRobotOptions{}), Options{Shards: 3}, caseOf(t, "doctor-error-on-own-shard/ds"))
	shards, err := filepath.Glob(filepath.Join(out, "shard-*"))
	require.NoError(t, err)
	require.Len(t, shards, 3)
	for _, path := range shards {
		d, err := dataset.Open(t.Context(), path, dataset.Options{})
		require.NoError(t, err)
		e, err := d.Episode(t.Context(), 0)
		require.NoError(t, err)
		assert.Empty(t, e.Notes.Damage(), path)
		require.NoError(t, d.Close())
	}
}

func TestStateFlagWithComma(t *testing.T) {
	in := caseOf(t, "state-flag-with-comma/arm_and_gripper.mcap")
	d, err := dataset.Open(t.Context(), in, dataset.Options{})
	require.NoError(t, err)
	e, err := d.Episode(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	arm, gripper := "/joint_states.position (j1, j2)", "/joint_states.position (gripper)"
	split := []string{"/joint_states.position (j1", " j2)", gripper} // as a flag's list has it
	assert.Equal(t, []string{arm, gripper}, joined(split, &Episode{Episode: e}))
	assert.Equal(t, []string{"a", "b"}, joined([]string{"a", "b"}, &Episode{Episode: e}), "names that are wrong stay as they are")
	s, err := beside(&Episode{Episode: e}, "observation.state", []string{arm})
	require.NoError(t, err)
	assert.Equal(t, []string{"j1", "j2"}, s.ColumnNames())
	assert.Equal(t, []string{"", ""}, prefixes([]*dataset.Stream{e.Stream(arm), e.Stream(gripper)}))
	assert.Equal(t, []string{"/joint_states.position.", "/joint_states.position."}, prefixes([]*dataset.Stream{e.Stream(arm), e.Stream(arm)}), "j1 would be there twice")
}

func TestOneBadJpegLosesEpisode(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	needsFFmpeg(t)
	for _, cameras := range []string{"auto", "image"} {
		for file, want := range map[string][]int{ // rows, valid, undecoded
			"nodht.mcap": {60, 60, 0}, "noeoi.mcap": {60, 60, 0}, "cut.mcap": {60, 59, 1}, "empty.mcap": {58, 58, 0}, "size.mcap": {60, 60, 0},
		} {
			if (cameras == "auto" || file == "size.mcap") && want[1] == 60 && !thorough.Long {
				continue
			}
			out, r := made(t, leRobot(t, LeRobotOptions{Cameras: cameras}), Options{Plan: &align.Plan{Rate: 30}}, caseOf(t, "one-bad-jpeg-loses-episode/"+file))
			for _, a := range r.Streams {
				if a.Kind == mediaKind {
					assert.Equal(t, want, []int{a.Rows, a.Valid, a.Undecoded}, file)
				}
			}
			if want[2] > 0 {
				var n dataset.Note
				for _, o := range r.Notes.List {
					if o.Note.Code == dataset.CodeFramesHeld {
						n = o.Note
					}
				}
				row, _ := n.Row.Index()
				assert.Equal(t, []any{dataset.CodeFramesHeld, "/cam/compressed", 1, 40}, []any{n.Code, n.Subject, n.Count, row})
			}
			d, err := dataset.Open(t.Context(), out, dataset.Options{Strict: true})
			require.NoError(t, err)
			e, err := d.Episode(t.Context(), 0)
			require.NoError(t, err)
			m := &e.Media[0]
			assert.Equal(t, want[0], m.Len(), file)
			if want[2] > 0 { // the row shows the frame before it
				a, err := m.Decode(t.Context(), 39)
				require.NoError(t, err)
				b, err := m.Decode(t.Context(), 40)
				require.NoError(t, err)
				if cameras == "image" {
					assert.Equal(t, a, b)
				}
			}
			require.NoError(t, d.Close())
		}
	}
}

func TestDepthVideoBlocksConversion(t *testing.T) {
	for name, depth := range map[string]string{"video12": "hevc", "tiff": "tiff"} {
		in := caseOf(t, "depth-video-blocks-conversion/"+name)
		out, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, in)
		assert.Equal(t, 2, r.Converted, name)
		b, err := os.ReadFile(filepath.Join(out, "meta/info.json"))
		require.NoError(t, err)
		var info struct {
			Features map[string]struct {
				Shape []int
				Info  map[string]any
			}
		}
		require.NoError(t, json.Unmarshal(b, &info))
		f := info.Features["observation.images.depth"]
		assert.Equal(t, []any{true, 1}, []any{f.Info["is_depth_map"], f.Shape[2]}, name)
		if name == "video12" {
			assert.Equal(t, []any{0.01, 10.0, 3.5, true, "m"}, []any{f.Info["depth_min"], f.Info["depth_max"], f.Info["shift"], f.Info["use_log"], f.Info["depth_unit"]})
		}
		a, err := lerobot.Open(t.Context(), in, lerobot.Options{})
		require.NoError(t, err)
		c, err := lerobot.Open(t.Context(), out, lerobot.Options{Strict: true})
		require.NoError(t, err)
		for i := range a.Len() { // byte for byte
			x, err := a.Episode(t.Context(), i)
			require.NoError(t, err)
			y, err := c.Episode(t.Context(), i)
			require.NoError(t, err)
			m, n := x.MediaStream("observation.images.depth"), y.MediaStream("observation.images.depth")
			assert.Equal(t, []any{m.Len(), depth}, []any{n.Len(), n.Encoding})
			_, err = m.Decode(t.Context(), 0)
			assert.ErrorIs(t, err, dataset.ErrUnsupported, "its levels are no colours")
			for k := range m.Len() {
				want, err := m.Frame(t.Context(), k)
				require.NoError(t, err)
				got, err := n.Frame(t.Context(), k)
				require.NoError(t, err)
				assert.Equal(t, want, got)
			}
		}
		require.NoError(t, a.Close())
		require.NoError(t, c.Close())
	}
}

func TestDeclaredDtypeNotUsed(t *testing.T) {
	_, r := made(t, leRobot(t, LeRobotOptions{}), Options{}, caseOf(t, "declared-dtype-not-used/ds"))
	assert.Equal(t, []int{3, 12}, []int{r.Converted, r.Streams[0].Rows})
}

func TestStreamsThatNoEpisodeOfTheOutputHas(t *testing.T) {
	report := &Report{Streams: []StreamAccount{{Name: "/a", Kind: streamKind, Rows: 5}, {Name: "cam", Kind: mediaKind, Rows: 5}, {Name: "/depth", Kind: mediaKind}, {Name: "/b", Kind: streamKind}}}
	plan := &align.Plan{Streams: []align.Stream{{Name: "/a"}, {Name: "/b"}, {Name: "cam", From: "/cam"}, {Name: "/depth"}}}
	for want, opt := range map[string]Options{
		"":            {},
		"[/depth]":    {Media: []string{"/depth", "cam"}},
		"[/b /depth]": {Plan: plan},
		"[/b]":        {Plan: plan, Media: []string{"/cam"}},
	} {
		got := Unwritten([]*Report{{}, report}, opt)
		if want == "" {
			assert.Empty(t, got)
			continue
		}
		assert.Equal(t, want, fmt.Sprint(got))
	}
}

// A frame that cannot be decoded is counted and not valid wherever it is, also between those that statistics are of: 300 frames, and 100 are sampled.
func TestABadFrameIsCountedInEachFormat(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, frames := range []int{12, 300} {
		for name, to := range map[string]Target{"lerobot": leRobot(t, LeRobotOptions{Cameras: "image"}), "webdataset": WebDataset(), "rlds": RLDS()} {
			if name != "lerobot" && frames == 300 && !thorough.Long { // it has no statistics
				continue
			}
			for at := frames / 2; at < frames/2+2; at++ {
				_, r := made(t, to, Options{Plan: &align.Plan{Rate: 10}}, oneBadFrame(t, frames, at))
				require.Len(t, r.Streams, 1, name)
				a := r.Streams[0]
				assert.Equal(t, []int{frames, frames - 1, 1}, []int{a.Rows, a.Valid, a.Undecoded}, "%s: frame %d", name, at)
			}
		}
	}
}

// oneBadFrame is a log of PNGs, one without its pixels.
func oneBadFrame(t *testing.T, frames, at int) string {
	path := filepath.Join(t.TempDir(), "camera.mcap")
	require.NoError(t, mcap.WriteFile(path, mcap.WriterOptions{}, func(w *mcap.Writer) error {
		times := make([]int64, frames)
		for i := range times {
			times[i] = 1_700_000_000_000_000_000 + int64(i)*100_000_000
		}
		e := &dataset.Episode{Media: []dataset.Media{{Name: "front", Times: times, Encoding: "png", Width: 8, Height: 8, Source: badFrame(at)}}}
		return w.Episode(t.Context(), e, mcap.Protobuf)
	}))
	return path
}

// badFrame is a camera whose frame of this number lacks its pixels.
type badFrame int

func (f badFrame) ReadFrame(_ context.Context, i int) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)))
	if i == int(f) {
		b.Truncate(45)
	}
	return b.Bytes(), err
}

// The samples before the first good frame of a camera have that frame, and are not valid.
func TestABadFirstFrameOfAnEpisodeIsTheFirstGoodOneInWebDataset(t *testing.T) {
	for _, plan := range []*align.Plan{nil, {Rate: 10}} {
		out, r := made(t, WebDataset(), Options{Plan: plan}, oneBadFrame(t, 40, 0))
		require.Len(t, r.Streams, 1)
		assert.Equal(t, []int{40, 39, 1}, []int{r.Streams[0].Rows, r.Streams[0].Valid, r.Streams[0].Undecoded})
		files, err := filepath.Glob(filepath.Join(out, "*.tar"))
		require.NoError(t, err)
		require.Len(t, files, 1)
		f, err := os.Open(files[0])
		require.NoError(t, err)
		var names []string
		for from := tar.NewReader(f); ; {
			h, err := from.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			b, err := io.ReadAll(from)
			require.NoError(t, err)
			if names = append(names, h.Name); strings.HasSuffix(h.Name, ".png") {
				_, err = png.Decode(bytes.NewReader(b))
				require.NoError(t, err, h.Name)
			} else if h.Name == "000000-000000.json" {
				assert.Contains(t, string(b), `"valid":{"front":false}`)
			}
		}
		require.NoError(t, f.Close())
		require.Len(t, names, 80)
		assert.True(t, slices.IsSorted(names))
		assert.Contains(t, names, "000000-000000.front.png")
	}
}
