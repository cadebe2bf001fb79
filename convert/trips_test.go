package convert

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// inMemory is a dataset with one episode.
type inMemory struct {
	dataset.Dataset
	e *dataset.Episode
}

func (d inMemory) Episode(context.Context, int) (*dataset.Episode, error) {
	e := *d.e
	e.Streams = slices.Clone(e.Streams)
	return &e, nil
}

const (
	travelRows  = 6
	travelRate  = 10
	travelStart = int64(1_700_000_000_000_000_000)
)

// files are frames of 16x8 pixels in an image format.
type files string

func (f files) ReadFrame(_ context.Context, i int) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, 16, 8))
	for k := range img.Pix {
		img.Pix[k] = byte(i*31 + k*k)
	}
	for k := 3; k < len(img.Pix); k += 4 {
		img.Pix[k] = 255
	}
	img.SetRGBA(0, 0, color.RGBA{byte(i), 1, 2, 255})
	var b bytes.Buffer
	if f == "png" {
		err := png.Encode(&b, img)
		return b.Bytes(), err
	}
	err := jpeg.Encode(&b, img, nil)
	return b.Bytes(), err
}

// traveller is an episode with everything that a table of rows can have. Without gaps its times have jitter. Otherwise arm lacks two rows.
func traveller(t *testing.T, gap bool) *dataset.Episode {
	t.Helper()
	success := true
	e := &dataset.Episode{Name: "run", Attributes: dataset.Attributes{Success: &success, Other: map[string]string{"said": "go"}}}
	times, numbers := make([]int64, travelRows), map[string][]float64{}
	serial := make([]int64, travelRows)
	for i := range times {
		times[i] = travelStart + int64(i)*1e9/travelRate
		if !gap {
			times[i] += int64(i*i) * 1_001
		}
		numbers["action"] = append(numbers["action"], float64(float32(i)*.37), float64(-i))
		numbers["arm"] = append(numbers["arm"], float64(i)*.11)
		numbers["open"] = append(numbers["open"], float64(i%2))
		serial[i] = 1<<53 + 1 + 2*int64(i)
	}
	numbers["serial"] = tensor.Cast[float64](serial)
	add := func(name string, dtype tensor.DType, columns []dataset.Column) {
		values := tensor.Must(tensor.Of(numbers[name], travelRows, len(columns)))
		if dtype == tensor.F32 {
			values = tensor.Must(tensor.Of(tensor.Cast[float32](numbers[name]), travelRows, len(columns)))
		}
		s, err := dataset.NewStream(name, times, values, columns)
		require.NoError(t, err)
		if name == "serial" {
			s.Integers, s.Inexact = tensor.Must(tensor.Of(serial, travelRows, 1)), travelRows
		}
		if name == "arm" && gap {
			_, err = s.OnlyValid([]uint8{1, 1, 0, 0, 1, 1})
			require.NoError(t, err)
		}
		e.Streams = append(e.Streams, s)
	}
	add("action", tensor.F32, []dataset.Column{{Name: "x", Type: "float32"}, {Name: "y", Type: "float32"}})
	add("arm", tensor.F64, []dataset.Column{{Name: "a", Type: "float64"}})
	add("serial", tensor.F64, []dataset.Column{{Name: "n", Type: "int64", Integer: true}})
	add("open", tensor.F32, []dataset.Column{{Name: "o", Type: "bool", Integer: true}})
	for _, format := range []string{"jpeg", "png"} {
		m := dataset.Media{Name: "cam_" + format, Times: times, Encoding: format, Width: 16, Height: 8, Source: files(format)}
		e.Media = append(e.Media, m)
	}
	e.Texts = []dataset.TextStream{
		{Name: "goal", Task: true, Times: []int64{times[0], times[3]}, Values: []string{"lift", "drop"}},
		{Name: "said", Times: []int64{times[0], times[4]}, Values: []string{"go", "stop"}},
	}
	return e
}

// samplesOf reads the samples that WebDataset wrote.
func samplesOf(t *testing.T, dir string) *dataset.Episode {
	t.Helper()
	read, order := members(t, filepath.Join(dir, "shard-00000-of-00001.tar"))
	e := &dataset.Episode{}
	goal, said := dataset.TextStream{Name: "goal", Task: true}, dataset.TextStream{Name: "said"}
	var times []int64
	numbers, valid, frames, encodings := map[string][]float64{}, map[string][]uint8{}, map[string]frameList{}, map[string]string{}
	for _, name := range order {
		key, member, _ := strings.Cut(name, ".")
		if member == "json" {
			var about sample
			require.NoError(t, json.Unmarshal(read[name], &about))
			times, e.Attributes.Success = append(times, about.Time), about.Success
			goal.Values = append(goal.Values, about.Task)
			said.Values = append(said.Values, about.Texts["said"]+about.Texts["steps/observation/said"])
			for stream, is := range about.Valid {
				valid[stream] = append(valid[stream], map[bool]uint8{true: 1}[is])
			}
			continue
		}
		require.NotEmpty(t, key)
		ext := filepath.Ext(member)
		stream := strings.TrimSuffix(member, ext)
		if ext != ".npy" {
			frames[stream], encodings[stream] = append(frames[stream], read[name]), map[string]string{".jpg": "jpeg", ".png": "png"}[ext]
			continue
		}
		values, err := npy.Read(bytes.NewReader(read[name]))
		require.NoError(t, err)
		numbers[stream] = append(numbers[stream], numbersOf(t, values)...)
	}
	goal.Times, said.Times = times, times
	e.Texts = []dataset.TextStream{goal, said}
	for name, list := range numbers {
		s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(list, len(times), len(list)/len(times))), nil)
		require.NoError(t, err)
		if valid[name] != nil {
			_, err = s.OnlyValid(valid[name])
			require.NoError(t, err)
		}
		e.Streams = append(e.Streams, s)
	}
	for name, list := range frames {
		e.Media = append(e.Media, dataset.Media{Name: name, Times: times, Encoding: encodings[name], Source: list})
	}
	return e
}

type frameList [][]byte

func (f frameList) ReadFrame(_ context.Context, i int) ([]byte, error) { return f[i], nil }

// trip is an episode after one or two conversions.
type trip struct {
	at  string // the output; empty if the last conversion refused
	e   *dataset.Episode
	err error
	r   *Report
}

// code returns why a conversion has not kept the stream, text or attribute with one of these names, or "" if its report has no reason.
func (g *trip) code(names ...string) string {
	named := func(subject string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(subject, name) })
	}
	if g.err != nil {
		return "refused"
	}
	for _, s := range g.r.Streams {
		switch {
		case !named(s.Name):
		case len(s.Dropped) > 0:
			return s.Dropped[0].Code.String()
		case s.Rounded > 0:
			return "rounded_integers"
		}
	}
	for _, n := range append(g.r.Notes.List, g.r.Losses.List...) {
		if named(n.Note.Subject) {
			return n.Note.Code.String()
		}
	}
	return ""
}

// reading reads the recorded times from a LeRobot dataset.
func reading(format string) (opt dataset.Options) {
	if strings.HasPrefix(format, "lerobot") {
		opt.Clock = captureTime
	}
	return opt
}

// travel converts a dataset, which has one episode, and reads the result. If e is not nil, it is that episode.
func travel(t *testing.T, from, in string, to Target, e *dataset.Episode, plan *align.Plan) (got trip) {
	t.Helper()
	ctx, out := t.Context(), filepath.Join(t.TempDir(), "out")
	c, err := New(ctx, []string{in}, out, to, Options{Plan: plan, Device: cpu(t), Reading: reading(from), Workers: 1})
	require.NoError(t, err)
	defer c.Close()
	if e != nil {
		c.inputs[0].from = inMemory{c.inputs[0].from, e}
	}
	if got.r, got.err = c.Shard(ctx, 0); got.err != nil {
		return got
	}
	got.at = out
	if to.Name() == "webdataset" {
		got.e = samplesOf(t, out)
		return got
	}
	d := opened(t, out, reading(to.Name()))
	got.e, err = d.Episode(ctx, 0)
	require.NoError(t, err)
	if tasks := got.e.ChangingTask(d.Info().Tasks); tasks != nil {
		got.e.Texts = append([]dataset.TextStream{*tasks}, got.e.Texts...)
	}
	return got
}

// heldIn returns the letters of the parts of an episode that another has to the bit. Frames are held if their pixels are. With gap only
// the mask is checked, which is a stream without the invalid rows or a stream of its own.
func heldIn(t *testing.T, want, got *dataset.Episode, gap bool) map[string]bool {
	t.Helper()
	held := map[string]bool{}
	if got == nil {
		return held
	}
	numbers := func(name string) bool {
		s := want.Stream(name)
		for i := range got.Streams {
			if g := &got.Streams[i]; strings.HasSuffix(g.Name, name) {
				return slices.Equal(numbersOf(t, s.Values), numbersOf(t, g.Values))
			}
		}
		return false
	}
	if gap {
		for i := range got.Streams {
			switch g := &got.Streams[i]; {
			case strings.HasSuffix(g.Name, "arm"):
				held["m"] = held["m"] || slices.Equal(want.Stream("arm").Nanoseconds(), g.Nanoseconds()) && numbers("arm")
			case strings.HasSuffix(g.Name, "arm_valid"), strings.HasSuffix(g.Name, "arm.valid"):
				held["m"] = held["m"] || slices.Equal([]float64{1, 1, 0, 0, 1, 1}, numbersOf(t, g.Values))
			}
		}
		return held
	}
	held["n"] = numbers("action") && numbers("open")
	held["d"] = numbers("arm")
	for i := range got.Streams {
		if g := &got.Streams[i]; strings.HasSuffix(g.Name, "serial") && g.Integers != nil {
			held["i"] = slices.Equal(must(tensor.Packed[int64](want.Stream("serial").Integers)), must(tensor.Packed[int64](g.Integers)))
		}
	}
	times := want.Streams[0].Nanoseconds()
	held["c"] = slices.Equal(times, got.Stream("action").Nanoseconds())
	held["t"], held["x"] = true, false
	own := got.Stream("action").Nanoseconds()
	for i, at := range own {
		held["t"] = held["t"] && got.TaskAt(at) == want.TaskAt(times[i])
	}
	for _, text := range got.Texts {
		held["x"] = held["x"] || strings.HasSuffix(text.Name, "said") && !slices.ContainsFunc(times, func(at int64) bool {
			return text.At(own[slices.Index(times, at)]) != want.Texts[1].At(at)
		})
	}
	held["s"] = got.Attributes.Success != nil && *got.Attributes.Success
	frames, pixels := 0, 0
	for i := range got.Media {
		m := &got.Media[i]
		original := want.MediaStream(m.Name[strings.LastIndex(m.Name, "cam_"):])
		for k := range original.Len() {
			a, b := must(original.Frame(t.Context(), k)), must(m.Frame(t.Context(), k))
			if bytes.Equal(a, b) {
				frames++
			}
			if same(must(original.Decode(t.Context(), k)), must(m.Decode(t.Context(), k))) {
				pixels++
			}
		}
	}
	held["p"], held["f"] = frames == 2*travelRows, pixels == 2*travelRows
	return held
}

// travelParts are the parts of an episode in the table, and the names of the streams, texts or attributes that have them.
var travelParts = []struct {
	letter, text string
	names        []string
}{
	{"n", "float32 and bool", []string{"action", "open"}},
	{"d", "float64", []string{"arm"}},
	{"i", "integers above 2^53", []string{"serial"}},
	{"c", "times", []string{"action"}},
	{"t", "tasks that change", []string{"goal", "task", "language_instruction"}},
	{"x", "other texts", []string{"said"}},
	{"s", "success", []string{"success"}},
	{"f", "frames", []string{"cam_"}},
	{"p", "image files (the pixels are equal)", nil},
	{"m", "the mask", []string{"arm"}},
}

// Each pair of formats holds the parts in the table of docs/convert.md to the bit, and the report of a conversion has a reason for each part
// that is lost. The stream action has its name in every format.
func TestTripsBetweenFormats(t *testing.T) {
	v3, v21 := leRobot(t, LeRobotOptions{Cameras: "image"}), leRobot(t, LeRobotOptions{Cameras: "image", Version: "2.1"})
	targets := []Target{v3, v21, MCAP(mcap.Protobuf), NPZ(), Safetensors(), WebDataset(), RLDS(), Zarr()}
	plan := &align.Plan{Rate: travelRate, Defaults: align.Sampling{
		Kind: "previous", MaxGap: ops.Within(150 * time.Millisecond), Tolerance: ops.Within(time.Millisecond),
	}}
	originals := [2]*dataset.Episode{traveller(t, false), traveller(t, true)}
	stand := write(t, recorded(t, 1, 4, false))
	reasons := map[string][]string{}
	// cell returns the parts that both conversions have not held, and adds the second one's reasons.
	cell := func(what string, before map[string]bool, trips [2]trip) (string, map[string]bool) {
		held := map[string]bool{}
		for i := range trips {
			require.NoError(t, trips[i].err, what)
			require.NotNil(t, trips[i].e.Stream("action"), "%s: %v", what, trips[i].e.Names())
			maps.Copy(held, heldIn(t, originals[i], trips[i].e, i == 1))
		}
		text := ""
		for _, part := range travelParts {
			if held[part.letter] || part.letter == "p" && !held["f"] {
				continue
			}
			text += part.letter
			if part.names == nil || before != nil && !before[part.letter] {
				continue
			}
			why := trips[0].code(part.names...)
			if part.letter == "m" {
				if why = trips[1].code(part.names...); trips[1].r.NotValid > 0 {
					why = "rows_not_valid"
				}
			}
			if assert.NotEmpty(t, why, "%s: %s lost without a reason", what, part.text); !slices.Contains(reasons[part.letter], why) {
				reasons[part.letter] = append(reasons[part.letter], why)
			}
		}
		return cmp.Or(text, "all"), held
	}
	var table strings.Builder
	line := func(cells []string) { fmt.Fprintf(&table, "| %s |\n", strings.Join(cells, " | ")) }
	rows, heads := [][]string{{"the recording"}}, []string{"from"}
	for _, a := range targets {
		first := [2]trip{travel(t, "", stand, a, originals[0], nil), travel(t, "", stand, a, originals[1], plan)}
		text, held := cell(a.Name(), nil, first)
		heads, rows[0] = append(heads, a.Name()), append(rows[0], text)
		if a.Name() == "webdataset" {
			continue
		}
		row := []string{a.Name()}
		for _, b := range targets {
			text, _ := cell(a.Name()+" to "+b.Name(), held, [2]trip{
				travel(t, a.Name(), first[0].at, b, nil, nil), travel(t, a.Name(), first[1].at, b, nil, plan),
			})
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	line(heads)
	line(slices.Repeat([]string{"---"}, len(heads)))
	for _, row := range rows {
		line(row)
	}
	table.WriteString("\nEach letter is a part that does not arrive to the bit, with its reason in the report:\n\n")
	for _, part := range travelParts {
		why := reasons[part.letter]
		if part.names != nil && why == nil { // every format holds it
			continue
		}
		fmt.Fprintf(&table, "- %s: %s", part.letter, part.text)
		if why != nil {
			fmt.Fprintf(&table, " (`%s`)", strings.Join(why, "`, `"))
		}
		table.WriteString("\n")
	}
	document := filepath.FromSlash("../docs/convert.md")
	before, rest, ok := strings.Cut(string(filetest.Read(t, document)), "<!-- table: trips -->\n")
	require.True(t, ok)
	written, after, ok := strings.Cut(rest, "<!-- end: trips -->\n")
	require.True(t, ok)
	if os.Getenv("UPDATE") != "" {
		filetest.Write(t, document, before+"<!-- table: trips -->\n"+table.String()+"<!-- end: trips -->\n"+after)
		return
	}
	assert.Equal(t, table.String(), written, "UPDATE=1 go test -run Trips ./convert writes it")
}

// The tasks of a LeRobot dataset come back from formats that have them as texts.
func TestTasksComeBackToLeRobot(t *testing.T) {
	lerobot := leRobot(t, LeRobotOptions{Cameras: "image"})
	first := travel(t, "", write(t, recorded(t, 1, 4, false)), lerobot, traveller(t, false), nil)
	require.NotNil(t, first.e.Stream("task_index"))
	for _, to := range []Target{MCAP(mcap.Protobuf), MCAP(mcap.JSON), RLDS()} {
		away := travel(t, "lerobot", first.at, to, nil, nil)
		require.NoError(t, away.err, to.Name())
		back := travel(t, to.Name(), away.at, lerobot, nil, nil)
		require.NoError(t, back.err, to.Name())
		for i, at := range back.e.Stream("action").Nanoseconds() {
			assert.Equal(t, []string{"lift", "lift", "lift", "drop", "drop", "drop"}[i], back.e.TaskAt(at), to.Name())
		}
	}
}
