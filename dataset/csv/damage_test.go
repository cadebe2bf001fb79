package csv_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/csv"
	_ "github.com/robocache/robocache/dataset/tum"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/settest"
)

const small = "#timestamp [ns],p_x [m],note,n\n1520530308189679351,0.25,\"a, b\",1\n1520530308198012351,-1.5e-3,,2\n1520530308206345351,,c,\n"

func TestOneBrokenLineCostsItself(t *testing.T) {
	lines := strings.SplitAfter(small, "\n")
	for name, broken := range map[string]string{
		"a field too few":           "1520530308200000000,1,a\n",
		"a field too many":          "1520530308200000000,1,a,2,3\n",
		"text where numbers are":    "1520530308200000000,1,a,hello\n",
		"no time":                   ",1,a,2\n",
		"a time that is none":       "1520530308.2.1,1,a,2\n",
		"a time too far":            "5520530308200000000,1,a,2\n",
		"quotes that do not end":    "1520530308200000000,1,\"a,2\n",
		"text behind quotes":        "1520530308200000000,1,\"a\"b,2\n",
		"a number too large":        "1520530308200000000,1e999,a,2\n",
		"zero bytes in the numbers": "1520530308200000000,\x00,a,2\n",
	} {
		text := strings.Join(lines[:2], "") + broken + strings.Join(lines[2:], "")
		if strings.Contains(broken, "\x00") {
			text = strings.Join(lines[:2], "") + strings.Repeat(lines[1], 10_000) + broken
		}
		s, err := csv.Open(write(t, "run.csv", text), dataset.Options{})
		require.NoError(t, err, name)
		e, err := s.Episode(context.Background(), 0)
		require.NoError(t, err, name)
		assert.Equal(t, strings.Count(text, "\n")-2, e.Stream("data").Len(), name)
		require.Len(t, e.Notes.Damage(), 1, name)
		line := 1 + strings.Count(text[:strings.Index(text, broken)], "\n")
		assert.Equal(t, []any{1, int64(len(broken)), line}, []any{e.Notes.Damage()[0].Count, e.Notes.Damage()[0].Bytes, e.Notes.Damage()[0].Cause.(*dataset.FormatError).Line}, name)
		s, err = csv.Open(write(t, "run.csv", text), dataset.Options{Strict: true})
		require.NoError(t, err, name)
		_, err = s.Episode(context.Background(), 0)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, name)
		assert.Equal(t, line, bad.Line, name)
		assert.NotEmpty(t, bad.Path)
	}
}

func TestLinesAreCountedAcrossQuotes(t *testing.T) {
	e, _ := read(t, "time,note,x\n0.0,\"two\nlines\",1.5\n0.1,a,2\n0.2,a\n0.3,\"three\r\n\r\nlines\",4\n0.4,\"open\n0.5,a,6\n", dataset.Options{})
	assert.Equal(t, []float64{1.5, 2, 4, 6}, floats(t, e.Stream("data")))
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, []any{2, 5}, []any{e.Notes.Damage()[0].Count, e.Notes.Damage()[0].Cause.(*dataset.FormatError).Line})
}

func TestATableCutAnywhereKeepsWhatIsWhole(t *testing.T) {
	begin := strings.IndexByte(small, '\n') + 1
	for n := range len(small) {
		path := write(t, "run.csv", small[:n])
		s, err := csv.Open(path, dataset.Options{Clock: "timestamp [ns]"})
		whole := strings.Count(small[:n], "\n") - 1
		if err != nil {
			assert.LessOrEqual(t, whole, 0, "%d bytes: %v", n, err)
			continue
		}
		e, err := s.Episode(context.Background(), 0)
		if err != nil {
			assert.ErrorIs(t, err, dataset.ErrTruncated, n)
			assert.LessOrEqual(t, whole, 0)
			continue
		}
		rows := e.Stream("data").Len()
		assert.True(t, rows == max(whole, 0) || rows == whole+1 && s.Info().Notes.Find(dataset.CodeNoLineEnd) != nil && e.Attributes.Other["data: last line"] != "", "%d bytes: %d rows", n, rows)
		if line := small[strings.LastIndexByte(small[:n], '\n')+1 : n]; n > begin && line != "" && rows == whole {
			require.Len(t, e.Notes.Damage(), 1)
			assert.Equal(t, dataset.CodeLineCut, e.Notes.Damage()[0].Code)
		}
	}
}

// ways are how a table may be read.
var ways = []dataset.Options{{}, {Strict: true}, {Clock: "steps", Rate: 10}}

// check holds what must be so whatever a file holds.
func check(t testing.TB, path string, text []byte, options ...dataset.Options) {
	filetest.Write(t, path, text)
	for _, opt := range options {
		s, err := csv.Open(path, opt)
		var bad *dataset.FormatError
		if err != nil {
			require.True(t, errors.As(err, &bad), "%v", err)
			continue
		}
		e, err := s.Episode(context.Background(), 0)
		if err != nil {
			require.True(t, errors.As(err, &bad) && bad.Offset >= 0 && bad.Offset <= int64(len(text)) && bad.Line > 0, "%v", err)
			continue
		}
		require.NoError(t, e.Streams[0].Check())
		require.False(t, opt.Strict && e.Notes.Damage() != nil)
		require.LessOrEqual(t, e.Notes.LostBytes(), int64(len(text)))
	}
}

// texts are tables of all kinds of clocks and separators.
var texts = []string{
	small, "a;b\r1;2\r3;4", "time x\n0 1\n1 2\n", "sec,nsec,x\n1,2,3\n", "time,x\n2024-01-01T00:00:00,1\n", "time,note,x\n0.0,\"two\nlines\",1.5\n0.1,a,2\n",
}

func TestMutantsDoNoHarm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.csv")
	var seeds []mutate.Seed
	for _, text := range texts {
		seeds = append(seeds, mutate.Seed{Name: text, Data: []byte(text)})
	}
	mutate.Run(t, mutate.Plan{
		Seeds: seeds, Words: []string{"\n", " ", "#", "e9", ",", "\r", "1e999", "\"", ";", "\t", "nan", "timestamp"}, Few: 2000, Most: 16 << 20,
		Try: func(m mutate.Mutant) { check(t, path, m.Data, ways[m.N%len(ways)]) },
	})
}

func FuzzRead(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { check(t, filepath.Join(t.TempDir(), "run.csv"), text, ways...) })
}

// Whatever a file begins with: no format's Match panics.
func FuzzMatch(f *testing.F) {
	f.Add([]byte(small))
	for _, text := range others {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		for _, f := range dataset.Formats() {
			f.Match(head[:min(len(head), dataset.HeadBytes)])
			if f.Named != nil {
				f.Named(head[:min(len(head), dataset.HeadBytes)])
			}
		}
	})
}

// What a reader takes is a fixed multiple of the file, and of its own buffers.
func TestHostileTablesTakeNoMoreThanTheyFill(t *testing.T) {
	wide := strings.Repeat("a,", 8000) + "time\n"
	row := strings.Repeat("1,", 8000) + "1\n"
	good := strings.Repeat("0,1,a\n", 50_000)
	for name, text := range map[string]string{
		"many short lines under a wide header": wide + row + row + row + strings.Repeat("\n", 2<<20),
		"one line":                             "time,x\n0,1\n" + strings.Repeat("1", 20<<20) + "\n1,2\n",
		"quotes that never end":                "time,x,n\n" + good + strings.Repeat("1,2,\"\"\"\n", 300_000),
		"quotes that end late":                 "time,x,n\n" + good + strings.Repeat("1,2,\"a\n"+strings.Repeat("\"\"\"\"\n", 99), 1000),
	} {
		path := write(t, "run.csv", text)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := csv.Open(path, dataset.Options{})
		if err == nil {
			_, err = s.Episode(context.Background(), 0)
		}
		var bad *dataset.FormatError
		assert.True(t, err == nil || errors.As(err, &bad), "%s: %v", name, err)
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(160<<20), "%s: bytes that were taken of %d", name, len(text))
	}
	e, _ := read(t, "time,x\n0,1\n"+strings.Repeat("1", 20<<20)+"\n1,2\n", dataset.Options{})
	assert.Equal(t, []float64{1, 2}, floats(t, e.Stream("data")))
	assert.Equal(t, dataset.CodeLineLong, e.Notes.Damage()[0].Code)
	assert.Equal(t, int64(20<<20+1), e.Notes.Damage()[0].Bytes)
}

func TestACancelledReadEnds(t *testing.T) {
	s, err := csv.Open(write(t, "run.csv", "time,x\n"+strings.Repeat("1,2\n", 10_000)), dataset.Options{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = s.Episode(ctx, 0)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = s.Episode(context.Background(), 1)
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}

// others are files that lie beside recordings.
var others = map[string]string{
	"notes.txt":      "time is short, x is left\nrun 1, run 2\n",
	"README.md":      "# time, x\n\nThis folder holds 3 runs, of 2024.\n",
	"LICENSE":        "MIT License\n\nCopyright (c) 2026\n\nPermission is hereby granted, free of charge,\nto any person\n",
	"cloud.pcd":      "# .PCD v.7 - Point Cloud Data file format\nVERSION .7\nFIELDS x y z t\nSIZE 4 4 4 4\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 2\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS 2\nDATA ascii\n1 2 3 4\n1 2 3 4\n",
	"cloud.ply":      "ply\nformat ascii 1.0\ncomment time x\nelement vertex 2\nproperty float x\nproperty float y\nproperty float time\nend_header\n1 2 3\n1 2 3\n",
	"info.json":      "{\n \"time\": 1,\n \"x\": [1, 2]\n}\n",
	"plan.yaml":      "rate: 50\ntime: 3, 4\n",
	"matrix.txt":     "1 0 0\n0 1 0\n0 0 1\n",
	"names.txt":      "time,name\n1,a\n2,b\n",
	"list.txt":       "time,x\nno,numbers\nat,all\n",
	"binary":         "time,x\n1,2\n\x00\x01\x02",
	"frames.txt":     "1305031102.175304 rgb/1305031102.175304.png\n",
	"empty.txt":      "",
	"calibration.md": "fx, fy\n525.0, 525.0\n",
}

// noneOf is the kind of error of a file that is none that is known.
func noneOf(text string) error {
	if text == "" {
		return dataset.ErrTruncated
	}
	return dataset.ErrUnsupported
}

func TestOtherFilesAreNoTables(t *testing.T) {
	dir := t.TempDir()
	for name, text := range others {
		filetest.Write(t, filepath.Join(dir, name), text)
		_, err := dataset.Recognise(t.Context(), filepath.Join(dir, name))
		assert.ErrorIs(t, err, noneOf(text), name)
	}
	for i := range 3 {
		filetest.Write(t, filepath.Join(dir, fmt.Sprintf("run_%d.csv", i)), small)
	}
	d, err := dataset.Open(context.Background(), dir, dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, []any{"csv", 3}, []any{d.Format(), d.Len()})
	e := settest.Episode(t, d, 2)
	assert.Equal(t, []any{"run_2", []string{"data"}}, []any{e.Name, e.Names()})
}

func TestTablesThatDoNotSaySoAreKnownByTheirName(t *testing.T) {
	wide := "#timestamp," + strings.Repeat("joint_position_of_the_left_arm,", 300) + "x\n"
	for name, c := range map[string]struct{ file, text string }{
		"no header":          {"a.csv", "1,2\n3,4\n"},
		"no clock":           {"A.CSV", "a;b\n1;2\n"},
		"tabs":               {"a.tsv", "a\tb\n1\t2\n"},
		"a very long header": {"a.csv", wide + strings.Repeat("1,", 301) + "2\n"},
		"only a header":      {"a.csv", "time,x\n"},
	} {
		f, err := dataset.Recognise(t.Context(), write(t, c.file, c.text))
		require.NoError(t, err, name)
		assert.Equal(t, "csv", f.Name, name)
		_, err = dataset.Recognise(t.Context(), write(t, "a.txt", c.text))
		assert.ErrorIs(t, err, dataset.ErrUnsupported, name)
	}
	for name, text := range map[string]string{"text": "a,b\nc,d\n", "nothing": "", "binary": "1,2\n\x00"} {
		_, err := dataset.Recognise(t.Context(), write(t, "a.csv", text))
		assert.ErrorIs(t, err, noneOf(text), name)
	}
	_, err := dataset.Recognise(t.Context(), write(t, "a.csv", "<html>\n<body>\n"))
	assert.ErrorContains(t, err, "a web page stands for the file")
	// Beside files that say what they are, these are other files.
	dir := t.TempDir()
	for name, text := range map[string]string{"a.csv": "1,2\n3,4\n", "pose.txt": "1 0 0 0 0 0 0 1\n"} {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	d := settest.Open(t, dir)
	assert.Equal(t, []any{"tum", 1}, []any{d.Format(), d.Len()})
}

func TestPosesWithTheScalarFirstAreATable(t *testing.T) {
	text := "# timestamp tx ty tz qw qx qy qz\n1.5 0 0 0 1 0 0 0\n2.5 0 0 0 1 0 0 0\n"
	d := settest.Open(t, write(t, "a.txt", text))
	assert.Equal(t, "csv", d.Format())
	e := settest.Episode(t, d, 0)
	assert.Equal(t, dataset.RotationWXYZ, e.Stream("data").Columns[3].Rotation)
	assert.Equal(t, []int64{15e8, 25e8}, e.Stream("data").Nanoseconds())
	d = settest.Open(t, write(t, "a.txt", strings.Replace(text, "qw qx qy qz\n1.5 0 0 0 1 0 0 0\n2.5 0 0 0 1", "qx qy qz qw\n1.5 0 0 0 1 0 0 0\n2.5 0 0 0 1", 1)))
	assert.Equal(t, "tum", d.Format())
}
