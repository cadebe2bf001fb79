package tum_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/tum"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/settest"
)

const small = `# ground truth trajectory
# timestamp tx ty tz qx qy qz qw
1305031098.6659 1.3563 0.6305 1.6380 0.6132 0.5962 -0.3311 -0.3986
1305031098.6758 1.3543 0.6306 1.6360 0.6129 0.5966 -0.3316 -0.3980
1305031098.6858 1.3525 0.6306 1.6339 0.6136 0.5971 -0.3312 -0.3966
1305031098.69591 1.3502 0.6306 1.6318 0.6139 0.5972 -0.3312 -0.3959
`

func write(t testing.TB, name, text string) string {
	path := filepath.Join(t.TempDir(), name)
	filetest.Write(t, path, text)
	return path
}

// read reads a text as a trajectory, whether it is recognised or not.
func read(t testing.TB, text string, opt dataset.Options) (*dataset.Episode, dataset.Info, error) {
	s, err := tum.Open(write(t, "walk.txt", text), opt)
	require.NoError(t, err)
	e, err := s.Episode(context.Background(), 0)
	return e, s.Info(), err
}

func TestTimestampsAreWhatTheirDigitsSay(t *testing.T) {
	want := []int64{1305031098665900000, 1305031098675800000, 1305031098685800000, 1305031098695910000}
	for name, text := range map[string]string{
		"as it is":               small,
		"tabs":                   strings.ReplaceAll(small, " ", "\t"),
		"several spaces":         strings.ReplaceAll(small, " ", "   "),
		"spaces at lines' ends":  strings.ReplaceAll(small, "\n", " \n"),
		"carriage returns":       strings.ReplaceAll(small, "\n", "\r\n"),
		"only carriage returns":  strings.ReplaceAll(small, "\n", "\r"),
		"no last line's end":     strings.TrimSuffix(small, "\n"),
		"no comments":            small[strings.Index(small, "\n1305"):],
		"a mark at the start":    "\xef\xbb\xbf" + small,
		"exponents, as of numpy": strings.NewReplacer("1305031098.6659 ", "1.3050310986659e+09 ", "1305031098.69591", "1.305031098695910000e+09").Replace(small),
	} {
		path := write(t, "walk.txt", text)
		d, err := dataset.Open(context.Background(), path, dataset.Options{Strict: true})
		require.NoError(t, err, name)
		assert.Equal(t, []string{"tum", "walk"}, []string{d.Format(), d.Name()}, name)
		e, err := d.Episode(context.Background(), 0)
		require.NoError(t, err, name)
		s := e.Stream("pose")
		require.NotNil(t, s, name)
		assert.Equal(t, want, s.Nanoseconds(), name)
		assert.Equal(t, []string{"tx", "ty", "tz", "qx", "qy", "qz", "qw"}, s.ColumnNames())
		values := floats(t, s)
		assert.Equal(t, []float64{1.3563, 0.6305, 1.6380, 0.6132, 0.5962, -0.3311, -0.3986}, values[:7], name)
		for i, c := range s.Columns {
			assert.Equal(t, i >= 3, c.Rotation == dataset.RotationXYZW)
			assert.False(t, c.Integer)
		}
		assert.Empty(t, e.Notes.Damage(), name)
		assert.Equal(t, name == "no last line's end", len(d.Info().Notes) == 1, name)
		assert.Equal(t, name == "no last line's end", e.Attributes.Other["pose: last line"] != "", name)
		require.NoError(t, d.Close())
	}
}

func TestTimestampsBelowANanosecondAreRoundedAndCounted(t *testing.T) {
	e, _, err := read(t, "0.0000000014 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n", dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 1e9}, e.Stream("pose").Nanoseconds())
	assert.Equal(t, "1", e.Attributes.Other["pose: timestamps rounded to nanoseconds"])
}

func TestNanosecondsAreTakenAndTold(t *testing.T) {
	e, _, err := read(t, "1403636579763555584.000000 0 0 0 0 0 0 1\n1403636579813555456.000000 0 0 0 0 0 0 1\n", dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, []int64{1403636579763555584, 1403636579813555456}, e.Stream("pose").Nanoseconds())
	assert.Contains(t, e.Attributes.Other["clock"], "nanoseconds")
}

func TestOneBrokenLineCostsItself(t *testing.T) {
	lines := strings.SplitAfter(small, "\n")
	for name, broken := range map[string]string{
		"a field too few":  "1305031098.68 1 2 3 0 0 0\n",
		"a field too many": "1305031098.68 1 2 3 0 0 0 1 5\n",
		"text":             "1305031098.68 1 2 x 0 0 0 1\n",
		"no time":          "nan 1 2 3 0 0 0 1\n",
		"a time too far":   "1e10 1 2 3 0 0 0 1\n",
		"zero bytes":       "\x00\x00\x00\n",
	} {
		text := strings.Join(lines[:4], "") + broken + strings.Join(lines[4:], "")
		e, _, err := read(t, text, dataset.Options{})
		require.NoError(t, err, name)
		assert.Equal(t, 4, e.Stream("pose").Len(), name)
		require.Len(t, e.Notes.Damage(), 1, name)
		assert.Equal(t, []any{1, int64(len(broken)), 5}, []any{e.Notes.Damage()[0].Count, e.Notes.Damage()[0].Bytes, e.Notes.Damage()[0].Cause.(*dataset.FormatError).Line}, name)
		_, _, err = read(t, text, dataset.Options{Strict: true})
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, name)
		assert.Equal(t, 5, bad.Line)
		assert.NotEmpty(t, bad.Path)
	}
	_, _, err := read(t, "1 2 3\n4 5 6\n"+lines[2], dataset.Options{})
	assert.ErrorIs(t, err, dataset.ErrCorrupt, "more lines are broken than whole")
}

func TestATrajectoryCutAnywhereKeepsWhatIsWhole(t *testing.T) {
	for n := range len(small) {
		e, info, err := read(t, small[:n], dataset.Options{})
		whole := strings.Count(small[:n], "\n") - 2
		if err != nil {
			assert.ErrorIs(t, err, dataset.ErrTruncated, n) // of nothing but a part of the first pose
			assert.LessOrEqual(t, whole, 0)
			continue
		}
		rows := e.Stream("pose").Len()
		assert.True(t, rows == max(whole, 0) || rows == whole+1 && len(info.Notes) == 1, "%d bytes: %d rows", n, rows)
		line := small[strings.LastIndexByte(small[:n], '\n')+1 : n]
		if line != "" && line[0] != '#' && rows == max(whole, 0) {
			require.Len(t, e.Notes.Damage(), 1)
			assert.Equal(t, dataset.CodeLineCut, e.Notes.Damage()[0].Code)
		}
	}
}

// check holds what must be so whatever a file holds.
func check(t testing.TB, path string, text []byte, kinds ...bool) {
	filetest.Write(t, path, text)
	for _, strict := range kinds {
		s, err := tum.Open(path, dataset.Options{Strict: strict})
		require.NoError(t, err)
		e, err := s.Episode(context.Background(), 0)
		var bad *dataset.FormatError
		if err != nil {
			require.True(t, errors.As(err, &bad) && bad.Offset >= 0 && bad.Offset <= int64(len(text)) && bad.Line > 0, "%v", err)
			continue
		}
		require.NoError(t, e.Streams[0].Check())
		require.False(t, strict && e.Notes.Damage() != nil)
	}
}

// texts are trajectories as they are found.
var texts = []string{small, "1403636579763555584.0 0 0 0 0 0 0 1\n", "1 2 3\r4", "1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0 1\r\n3 0 0 0 0 0 0 1"}

func TestMutantsDoNoHarm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "walk.txt")
	var seeds []mutate.Seed
	for _, text := range texts {
		seeds = append(seeds, mutate.Seed{Name: text, Data: []byte(text)})
	}
	mutate.Run(t, mutate.Plan{
		Seeds: seeds, Words: []string{"\n", " ", "#", "e9", "-", "\r", "1e999", "\"", "nan", ",", "\n3 1 2 3 0 0 0 1\n"}, Few: 2000, Most: 16 << 20,
		Try: func(m mutate.Mutant) { check(t, path, m.Data, m.N%2 == 0) },
	})
}

func FuzzRead(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		check(t, filepath.Join(t.TempDir(), "walk.txt"), text, false, true)
	})
}

func TestOtherTextsAreNoTrajectories(t *testing.T) {
	var match func([]byte) bool
	for _, f := range dataset.Formats() {
		if f.Name == "tum" {
			match = f.Match
		}
	}
	for name, text := range map[string]string{
		"nothing":                    "",
		"notes":                      "battery was low\n8 runs, 3 good\n",
		"numbers":                    "1 2 3 4 5 6 7 8\n9 10 11 12 13 14 15 16\n",
		"a pose of KITTI":            "1 0 0 0 0 1 0 0 0 0 1 0\n",
		"ascii PCD":                  "# .PCD v.7 - Point Cloud Data file format\nVERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 1\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 1\nDATA ascii\n1 2 3\n",
		"ascii PLY":                  "ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nend_header\n1 2 3\n",
		"the scalar first":           "# timestamp tx ty tz qw qx qy qz\n1 0 0 0 1 0 0 0\n",
		"commas":                     "1,0,0,0,0,0,0,1\n",
		"binary":                     "1 0 0 0 0 0 0 1\n\x00\x01",
		"a list of frames":           "1305031102.175304 rgb/1305031102.175304.png\n",
		"most lines are not of it":   "1 0 0 0 0 0 0 1\nhello\nworld\n",
		"comments and nothing below": "# timestamp tx ty tz qx qy qz qw\n",
	} {
		assert.False(t, match([]byte(text)), name)
	}
	long := small + strings.Repeat("1305031098.7 1 1 1 0 0 0 1\n", 400)
	assert.True(t, match([]byte(long[:dataset.HeadBytes])))
	assert.True(t, match([]byte(small)))
}

// folder makes one of the benchmark.
func folder(t *testing.T, files map[string]string) string {
	dir := filepath.Join(t.TempDir(), "freiburg")
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		filetest.Write(t, path, text)
	}
	return dir
}

func TestAFolderIsOneEpisode(t *testing.T) {
	files := map[string]string{
		"groundtruth.txt":   small,
		"accelerometer.txt": "# timestamp ax ay az\n1305031098.6 0.1 -9.8 0\n1305031098.7 0.2 -9.7 0\n",
		"rgb.txt":           "# color images\n1305031098.61 rgb/a.png\n1305031098.65 rgb/b.png\n1305031098.69 rgb/c.png\n1305031098.695 rgb/d.jpg\nbroken\n1305031098.7 ../groundtruth.txt\n",
		"depth.txt":         "1305031098.62 depth/a.png\n",
		"rgb/a.png":         "A", "rgb/c.png": "C", "rgb/d.jpg": "J", "depth/a.png": "D",
		"notes.txt": "the robot fell over\n",
	}
	dir := folder(t, files)
	d := settest.Open(t, dir)
	assert.Equal(t, []any{"tum", "freiburg", 1}, []any{d.Format(), d.Name(), d.Len()})
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeFilesMissing, Subject: "rgb.txt", Count: 1, Detail: dataset.Detail{Of: 4, Names: []string{"rgb/b.png"}}}}, d.Info().Notes)
	e := settest.Episode(t, d, 0)
	assert.Equal(t, []string{"pose", "accelerometer"}, e.Names())
	assert.Equal(t, []string{"ax", "ay", "az"}, e.Stream("accelerometer").ColumnNames())
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeMediaFileMissing, Subject: "rgb", Count: 1}, {Code: dataset.CodeOtherEncoding, Subject: "rgb", Count: 1, Detail: dataset.Detail{Want: "png"}}}, e.Notes.Of(dataset.ClassLeftOut))
	rgb := e.MediaStream("rgb")
	assert.Equal(t, []int64{1305031098610000000, 1305031098690000000}, rgb.Times)
	assert.Equal(t, "png", rgb.Encoding)
	for i, want := range []string{"A", "C"} {
		b, err := rgb.Frame(context.Background(), i)
		require.NoError(t, err)
		assert.Equal(t, want, string(b))
	}
	assert.Equal(t, 1, e.MediaStream("depth").Len())
	require.Len(t, e.Notes.Damage(), 1)
	n := e.Notes.Damage()[0]
	assert.Equal(t, []any{dataset.CodeLineBroken, "rgb.txt", 2}, []any{n.Code, n.Got, n.Count})
	_, err := d.Episode(context.Background(), 1)
	assert.ErrorIs(t, err, dataset.ErrNotFound)

	_, err = dataset.Open(context.Background(), dir, dataset.Options{Strict: true})
	var bad *dataset.FormatError
	assert.ErrorAs(t, err, &bad)
	files["rgb.txt"] = "1305031098.65 rgb/b.png\n"
	_, err = dataset.Open(context.Background(), folder(t, files), dataset.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}

func TestIntrinsicsAreByTheFoldersName(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "freiburg3_and_freiburg1_and_freiburg2")
	filetest.Write(t, filepath.Join(dir, "depth.txt"), "1 a.png\n")
	filetest.Write(t, filepath.Join(dir, "rgb.txt"), "1 a.png\n")
	filetest.Write(t, filepath.Join(dir, "a.png"), "A")
	t.Chdir(dir)
	for range 8 { // the order of a map would change
		e := settest.Episode(t, settest.Open(t, "."), 0)
		assert.Equal(t, filepath.Base(dir), e.Name)
		assert.Equal(t, [4]float64{517.3, 516.5, 318.6, 255.3}, e.MediaStream("depth").Depth.Intrinsics)
	}
}

func TestAFolderOfTrajectoriesIgnoresOtherFiles(t *testing.T) {
	dir := folder(t, map[string]string{
		"b.txt": small, "a.txt": small, "notes.txt": "8 runs\n", "README": "1 2\n", "LICENSE": "MIT License\n\nCopyright (c) 2026\n", "image.png": "\x89PNG\r\n",
	})
	d := settest.Open(t, dir)
	assert.Equal(t, 2, d.Len())
	for i, want := range []string{"a", "b"} {
		e := settest.Episode(t, d, i)
		assert.Equal(t, want, e.Name)
	}
}

func TestAListOfManyFramesIsRead(t *testing.T) {
	var list strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&list, "%d.5 rgb/%d.jpg\n", i, i)
	}
	dir := folder(t, map[string]string{"rgb.txt": list.String(), "rgb/7.jpg": "seven"})
	d := settest.Open(t, dir)
	e := settest.Episode(t, d, 0)
	assert.Equal(t, []int64{7500000000}, e.MediaStream("rgb").Times)
	assert.Equal(t, "jpeg", e.MediaStream("rgb").Encoding)
	assert.Equal(t, 999, e.Notes[0].Count)
}
