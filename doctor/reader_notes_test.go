package doctor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// sole asserts that a report has one finding.
func sole(t *testing.T, r *Report, kind Kind, severity Severity, stream string) (f Finding) {
	t.Helper()
	for _, f := range r.Findings {
		assert.Equal(t, kind, f.Kind, f.Why)
	}
	if assert.Len(t, r.Findings, 1) {
		f = r.Findings[0]
		assert.Equal(t, []any{severity, stream}, []any{f.Severity, f.Subject()}, f.Why)
		assert.NotEmpty(t, f.WhatToDo)
	}
	return f
}

// A stream that an archive has and that could not be read is found, and why.
func TestAnArrayThatCouldNotBeReadIsFound(t *testing.T) {
	const n = 600
	times, walk := make([]int64, n), make([]float64, 3*n)
	for i := range times {
		times[i] = epoch + int64(i)*10_000_000
		for c := range 3 {
			walk[3*i+c] = math.Sin(float64(i*(c+2)) / 90)
		}
	}
	clock := func(n int) *tensor.Tensor { return tensor.Must(tensor.Of(times[:n], n)) }
	rows := tensor.Must(tensor.Of(walk, n, 3))
	for _, c := range []struct {
		name     string
		kind     Kind
		severity Severity
		stream   string
		arrays   map[string]*tensor.Tensor
		columns  []string
	}{
		{"fewer timestamps", Schema, Error, "a", map[string]*tensor.Tensor{"a.times": clock(595), "a.values": rows}, nil},
		{"a name too few", Schema, Error, "a", map[string]*tensor.Tensor{"a.times": clock(n), "a.values": rows}, []string{"x", "y"}},
		{"no timestamps", Schema, Warning, "a.values", map[string]*tensor.Tensor{"a.values": rows}, nil},
		{"three dimensions", Undecoded, Warning, "a", map[string]*tensor.Tensor{"a.times": clock(n), "a.values": tensor.Must(tensor.Of(walk, n, 3, 1))}, nil},
		{"a clock of another type", Undecoded, Warning, "a", map[string]*tensor.Tensor{"a.times": tensor.Must(tensor.Of(make([]uint8, n), n)), "a.values": rows}, nil},
		{"no samples", Empty, Warning, "a", map[string]*tensor.Tensor{"a.times": clock(0), "a.values": tensor.Must(tensor.Of(walk[:0], 0, 3))}, nil},
		{"a timestamp that is NaN", NaN, Error, "a", map[string]*tensor.Tensor{"a.times": secondsOf(times, 300), "a.values": rows}, nil},
		{"whole", "", "", "a", map[string]*tensor.Tensor{"a.times": secondsOf(times, -1), "a.values": rows}, []string{"x", "y", "z"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			w := npz.NewWriter(&b, npz.Options{})
			for _, name := range []string{"b.times", "b.values", "a.times", "a.values"} {
				if array := c.arrays[name]; array != nil {
					require.NoError(t, w.Add(name, array))
				} else if name == "b.times" {
					require.NoError(t, w.Add(name, clock(n)))
				} else if name == "b.values" {
					require.NoError(t, w.Add(name, rows))
				}
			}
			if c.columns != nil {
				require.NoError(t, w.AddStrings("a.columns", c.columns))
			}
			require.NoError(t, w.Close())
			path := filepath.Join(t.TempDir(), "a.npz")
			filetest.Write(t, path, b.Bytes())
			r := found(t, path)
			if c.kind == "" {
				assert.Empty(t, r.Findings)
				return
			}
			sole(t, r, c.kind, c.severity, c.stream)
		})
	}
}

// secondsOf are times in seconds, one of them NaN.
func secondsOf(times []int64, nan int) *tensor.Tensor {
	list := make([]float64, len(times))
	for i, ns := range times {
		if list[i] = float64(ns) / 1e9; i == nan {
			list[i] = math.NaN()
		}
	}
	return tensor.Must(tensor.Of(list, len(list)))
}

// What a recording has beside its series is none that could not be read.
func TestWhatIsBesideTheSeriesIsNoFault(t *testing.T) {
	for _, c := range []struct {
		note  dataset.Note
		kinds []Kind
	}{
		{dataset.Note{Code: dataset.CodeStepCount, Count: 595, Detail: dataset.Detail{Of: 600}}, []Kind{Schema}},
		{dataset.Note{Code: dataset.CodeStepCount, Count: 3, Detail: dataset.Detail{Of: 600}}, nil},
		{dataset.Note{Code: dataset.CodeStepCount, Count: 1300, Detail: dataset.Detail{Of: 600}}, nil},
		{dataset.Note{Code: dataset.CodeValueType, Detail: dataset.Detail{Got: "variable string"}}, nil},
		{dataset.Note{Code: dataset.CodeNoMessages}, nil},
	} {
		e := episodeOf(t, recording(1))
		e.Notes = dataset.Notes{c.note}
		var got []Kind
		for _, f := range Episode(e, 0, nil, Options{}) {
			got = append(got, f.Kind)
		}
		assert.Equal(t, c.kinds, got, "%v", c.note)
	}
}

// LeRobot's column timestamp is float32: where it is frame_index/fps nothing is lost, and nobody can write it otherwise.
func TestAFloat32ClockThatCountsFramesIsAWarning(t *testing.T) {
	k := &tape{name: "action", columns: []dataset.Column{{Name: "x", Type: "float32"}}}
	for i := range 150_000 {
		sec := float64(i) / 1000
		k.times = append(k.times, int64(math.Round(float64(float32(sec))*1e9)))
		k.rows = append(k.rows, []float64{math.Sin(sec) + 0.3*math.Sin(2.3*sec)})
	}
	e := &dataset.Episode{Streams: []dataset.Stream{k.stream(t)}}
	for _, c := range []struct {
		clocks []string
		want   Severity
	}{{[]string{"frame_index", "timestamp"}, Warning}, {nil, Error}} {
		info := dataset.Info{Declared: 1000, Rate: 1000, RateFrom: "file", Clocks: c.clocks}
		list := Episode(e, 0, &info, Options{})
		require.Len(t, list, 1)
		assert.Equal(t, []any{Float32Clock, c.want}, []any{list[0].Kind, list[0].Severity}, list[0].Why)
	}
}

func TestPartsThatOverlapAreToldWhereOneIsHeldOut(t *testing.T) {
	split := func(name string, episodes ...int) dataset.Split { return dataset.Split{Name: name, Episodes: episodes} }
	for _, c := range []struct {
		splits []dataset.Split
		told   []string
	}{
		{[]dataset.Split{split("train", 0, 1, 2), split("val", 2, 3)}, []string{"split val"}},
		{[]dataset.Split{split("train", 0, 1), split("20_percent_train", 0), split("valid", 2), split("20_percent_valid", 2)}, nil},
		{[]dataset.Split{split("20_percent_train", 0, 3), split("valid", 2, 3)}, []string{"split valid"}},
		{[]dataset.Split{split("all", 0, 1, 2), split("test", 2), split("constrained", 2)}, nil},
	} {
		var told []string
		for _, f := range Dataset(&dataset.Info{Splits: c.splits}, Options{}) {
			assert.Equal(t, SplitOverlap, f.Kind)
			told = append(told, f.Subject())
		}
		assert.Equal(t, c.told, told)
	}
}

func TestAnEpisodeAllOfWhichWasLeftOutIsEmpty(t *testing.T) {
	m := &memory{episodes: []*dataset.Episode{{Notes: dataset.Notes{{Code: dataset.CodeNoStream, Subject: "state", Detail: dataset.Detail{Got: "float64 [600,3]"}}}}}}
	f := sole(t, examined(t, m, Options{}), Empty, Warning, "")
	assert.Contains(t, f.Why, "state: no-stream: got float64 [600,3]")
}

// A file of records that was cut is damaged, whether or not a record was cut with it.
func TestAFileOfRecordsThatWasCutIsDamaged(t *testing.T) {
	const name = "bridge_dataset-train.tfrecord-00000-of-00001"
	from := sharedSet(t, "bridge_rlds")
	whole := found(t, from)
	data := filetest.Read(t, filepath.Join(from, name))
	record := int(binary.LittleEndian.Uint64(data)) + 16
	for cut, findings := range map[int]int{record: 1, record + 1000: 2} {
		root := copied(t, from)
		require.NoError(t, os.Truncate(filepath.Join(root, name), int64(cut)))
		r := found(t, root)
		assert.Len(t, r.Findings, len(whole.Findings)+findings)
		for _, f := range r.Findings {
			if f.Subject() == name {
				assert.Equal(t, []any{Damaged, Error}, []any{f.Kind, f.Severity}, f.Why)
				findings--
			}
		}
		assert.Zero(t, findings)
	}
}

// A table whose last line has no end may be whole, and one whose name says that something is missing is there.
func TestATableWithoutALastLinesEndIsToldAsThat(t *testing.T) {
	var b strings.Builder
	b.WriteString("timestamp,x,y\n")
	for i := range 300 {
		fmt.Fprintf(&b, "%.3f,%.6f,%.6f\n", float64(i)/100, math.Sin(float64(i)/30), math.Cos(float64(i)/40))
	}
	path := filepath.Join(t.TempDir(), "missing.csv")
	filetest.Write(t, path, b.String())
	assert.Empty(t, found(t, path).Findings)
	filetest.Write(t, path, strings.TrimSpace(b.String()))
	sole(t, found(t, path), Unended, Warning, "missing.csv")
}

func TestDriftOfTwoCamerasIsTwoFindings(t *testing.T) {
	s, err := dataset.NewStream("s", []int64{0, 1e9, 2e9}, tensor.Must(tensor.New(tensor.F32, 3, 1)), nil)
	require.NoError(t, err)
	e := &dataset.Episode{Name: "e", Streams: []dataset.Stream{s}}
	info := &dataset.Info{}
	for _, camera := range []string{"left", "right"} {
		e.Notes.Add(dataset.Note{Code: dataset.CodeFrameDrift, Subject: camera, Count: 3})
		info.Notes.Add(dataset.Note{Code: dataset.CodeVideoOverlap, Subject: "feature " + camera, Count: 2})
	}
	for _, list := range [][]Finding{Episode(e, 0, nil, Options{}), Dataset(info, Options{})} {
		var streams []string
		for _, f := range list {
			if f.Kind == VideoDrift {
				streams = append(streams, f.Subject())
			}
		}
		assert.Len(t, streams, 2, list)
	}
}
