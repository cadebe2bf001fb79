package align_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

const whole = `version: 1
rate: 50                          # Hz of the common clock
range: [0.5, 10]
snap: 2us
defaults: {edge: fill, fill: -1}
streams:
  - name: observation.state
    from: state
    columns: ["0:7", gripper]
    method: {gripper: window-last, "4:8": slerp}
    edge: clamp
    max_gap: 100ms
    tolerance: 20ms
    offset: -3ms
    normalise: mean-std
    dtype: f16
    quat: wxyz
    period: 360
    window: 50ms
    fill: .nan
    fill_gaps: true
  - name: action
    method: linear
windows:
  observation.state: [-1.0, 0.0]
  action: [0.0, 1]
padding: lerobot
shuffle: windows
filter: {split: train, task: "pick the cube", success: true}
`

func TestAPlanFileSaysEverythingAPlanHas(t *testing.T) {
	yes := true
	path := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(path, []byte(whole), 0o600))
	p, err := planfile.Read(path)
	require.NoError(t, err)
	fill := p.Streams[0].Fill
	assert.NotEqual(t, fill.Get(), fill.Get(), "NaN")
	p.Streams[0].Fill = ops.Fill{}
	assert.EqualExportedValues(t, align.Plan{
		Rate: 50, Range: align.Between(500*time.Millisecond, 10*time.Second), Snap: ops.Within(2 * time.Microsecond),
		Defaults: align.Sampling{Edge: "fill", Fill: ops.FillWith(-1)},
		Streams: []align.Stream{{
			Name: "observation.state", From: "state", Columns: []string{"0:7", "gripper"},
			Sampling: align.Sampling{
				Kinds: []align.ColumnKind{{Columns: "gripper", Kind: "window-last"}, {Columns: "4:8", Kind: "slerp"}},
				Edge:  "clamp", MaxGap: ops.Within(100 * time.Millisecond), Tolerance: ops.Within(20 * time.Millisecond), Offset: -3 * time.Millisecond,
				Normalise: "mean-std", DType: tensor.F16, Quat: "wxyz", Period: 360, Window: ops.Within(50 * time.Millisecond), FillGaps: true,
			},
		}, {Name: "action", Sampling: align.Sampling{Kind: "linear"}}},
		Windows: map[string]align.Window{"observation.state": {From: -time.Second}, "action": {To: time.Second}},
		Padding: "lerobot", Shuffle: "windows", Filter: dataset.Filter{Split: "train", Task: "pick the cube", Success: &yes},
	}, p)
	_, err = planfile.Read(path + ".none")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// Each mistake is told with its line and column, what was got and what is wanted.
func TestMistakesInAPlanFileAreToldWithTheirPlace(t *testing.T) {
	for _, c := range []struct {
		old, new     string
		line, column int
		want         []string
	}{
		{"rate: 50", "rates: 50", 2, 1, []string{`"rates"`, "did you mean rate?", "rate,"}},
		{"rate: 50", "rate: fast", 2, 7, []string{"rate", `"fast"`, "a number"}},
		{"rate: 50", "rate: -50", 2, 7, []string{"rate", "-50", "above 0"}},
		{"rate: 50", "rate: 50\nrate: 50", 3, 1, []string{"rate", ""}},
		{"version: 1", "version: 2", 1, 10, []string{"version", "2", "1"}},
		{"version: 1\n", "", 1, 1, []string{"no version", "version: 1"}},
		{"range: [0.5, 10]", "range: most", 3, 8, []string{"range", `"most"`, "union"}},
		{"range: [0.5, 10]", "range: [5]", 3, 8, []string{"range", "[from, to]"}},
		{"range: [0.5, 10]", "range: [5, 4]", 3, 8, []string{"range", "5s to 4s"}},
		{"snap: 2us", "snap: 2", 4, 7, []string{"snap", "2", "unit"}},
		{"snap: 2us", "snap: -2us", 4, 7, []string{"snap", "not negative"}},
		{"edge: fill,", "edge: fil,", 5, 18, []string{"defaults.edge", `"fil"`, "clamp"}},
		{"fill: -1", "fill: {}", 5, 30, []string{"defaults.fill", "a mapping", "a number"}},
		{"    from: state", "    form: state", 8, 5, []string{"streams[0]", `"form"`, "from"}},
		{"gripper: window-last", "gripper: previous", 19, 13, []string{"streams[0].window", "50ms without a method that looks at it", "window-mean"}},
		{"gripper: window-last", "gripper: prevoius", 10, 23, []string{"streams[0].method.gripper", "prevoius", "previous"}},
		{"  - name: action", "  - from: action", 22, 5, []string{"streams[1].name", "none"}},
		{"  - name: action", "  - name: observation.state", 22, 11, []string{"streams[1].name", "twice"}},
		{"method: linear", "method: cubic", 23, 13, []string{"streams[1].method", `"cubic"`, "linear"}},
		{"dtype: f16", "dtype: i16", 16, 12, []string{"dtype", `"i16"`, "bf16"}},
		{"normalise: mean-std", "normalise: best", 15, 16, []string{"normalise", "min-max"}},
		{"fill_gaps: true", "fill_gaps: maybe", 21, 16, []string{"fill_gaps", "true or false"}},
		{"  action: [0.0, 1]", "  actions: [0.0, 1]", 26, 12, []string{"windows.actions", "observation.state"}},
		{"  action: [0.0, 1]", "  action: [1, 1]", 26, 11, []string{"windows.action", "1s to 1s"}},
		{"  action: [0.0, 1]", "  action: [0.0, soon]", 26, 17, []string{"windows.action", `"soon"`, "[-500ms, 1s]", "[-0.5, 1]"}},
		{"  action: [0.0, 1]", "  action: 1s", 26, 11, []string{"windows.action", "[-500ms, 1s]"}},
		{"padding: lerobot", "padding: mine", 27, 10, []string{"padding", "robomimic"}},
		{"streams:", "streams: {}\nstream:", 6, 10, []string{"streams", "a mapping", "a list"}},
		{"filter: {split", "filter: {splits", 29, 10, []string{"filter", "splits", "split"}},
		{"columns: [\"0:7\", gripper]", "columns: [[1], gripper]", 9, 15, []string{"columns[0]", "a list", "a text"}},
		{"streams:\n", "streams: [\n", 24, 1, []string{"]"}},
		{"rate: 50", "rate: 50: 60", 2, 0, nil},
		{"rate: 50", "\trate: 50", 2, 0, nil},
	} {
		text := strings.Replace(whole, c.old, c.new, 1)
		require.NotEqual(t, whole, text, c.old)
		_, err := planfile.Parse("p.yaml", []byte(text))
		var e *align.PlanError
		if !assert.ErrorAs(t, err, &e, c.new) {
			continue
		}
		assert.Equal(t, "p.yaml", e.Path)
		assert.Equal(t, c.line, e.Line, "%s: %v", c.new, err)
		if c.column > 0 {
			assert.Equal(t, c.column, e.Column, "%s: %v", c.new, err)
		}
		assert.Positive(t, e.Column)
		for _, w := range c.want {
			assert.ErrorContains(t, err, w, c.new)
		}
	}
	for _, text := range []string{"", "# nothing\n", "---\nversion: 1\nrate: 1\n---\nversion: 1\n", "- 1\n", "a", strings.Repeat("# long\n", 1<<18)} {
		_, err := planfile.Parse("p.yaml", []byte(text))
		var e *align.PlanError
		assert.ErrorAs(t, err, &e, "%.20q", text)
	}
	p, err := planfile.Parse("p.yaml", []byte("{version: 1, rate: 0.5}"))
	require.NoError(t, err)
	assert.EqualExportedValues(t, align.Plan{Rate: .5}, p)
}

func TestAPlanOfAProgramIsCheckedToo(t *testing.T) {
	for key, p := range map[string]align.Plan{
		"rate":            {},
		"range":           {Rate: 1, Range: align.Range{Mode: 9}},
		"streams[0].edge": {Rate: 1, Streams: []align.Stream{{Name: "a", Sampling: align.Sampling{Edge: "Clamp"}}}},
		"defaults.method": {Rate: 1, Defaults: align.Sampling{Kind: "cubic"}},
		"defaults.period": {Rate: 1, Defaults: align.Sampling{Period: -1}},
		"defaults.window": {Rate: 1, Defaults: align.Sampling{Window: ops.Within(-1)}},
		"defaults.dtype":  {Rate: 1, Defaults: align.Sampling{DType: tensor.I32}},
		"shuffle":         {Rate: 1, Shuffle: "well"},
	} {
		var e *align.PlanError
		require.ErrorAs(t, p.Check(), &e, key)
		assert.Equal(t, key, e.Key)
		assert.Zero(t, e.Line)
		assert.NotContains(t, e.Error(), "line 0")
	}
}

// What a plan asks for and a recording does not have is told with the place in the plan.
func TestWhatARecordingLacksIsToldWithThePlaceInThePlan(t *testing.T) {
	e := &dataset.Episode{Streams: []dataset.Stream{stream(t, "airspeed", 0, 100, 0, 1, 2)}}
	for _, c := range []struct {
		text         string
		line, column int
		want         []string
	}{
		{"version: 1\nrate: 5\nstreams:\n  - name: airspede\n", 4, 11, []string{"p.yaml: line 4, column 11", `no stream "airspede"`, "did you mean airspeed?"}},
		{"version: 1\nrate: 5\nstreams:\n  - name: airspeed\n    columns: [v, w]\n", 5, 18, []string{`column "w"`, "one of v"}},
		{"version: 1\nrate: 5\nstreams:\n  - name: airspeed\n    method: slerp\n", 5, 13, []string{"an array of four floats"}},
		{"version: 1\nrate: 5\nstreams:\n  - name: airspeed\n    columns: [v,\n      v]\n", 6, 7, []string{"column v twice"}},
		{"version: 1\nrate: 5\nstreams:\n  - name: airspeed\n    method:\n      v: linear\n      gripper: window-last\n", 7, 7, []string{`a method for column "gripper"`, "one of v"}},
		{"version: 1\nrate: 5\nstreams:\n  - name: airspeed\n    method: {v: linear, \"0:1\": previous}\n", 5, 25, []string{"two methods for column v"}},
		{"version: 1\nrate: 5\nstreams:\n  - name: airspeed\n    method: {v: slerp}\n", 5, 14, []string{"a multiple of 4"}},
		{"version: 1\nrate: 5\ndefaults:\n  method: {w: previous}\nstreams:\n  - name: airspeed\n", 4, 12, []string{`a method for column "w"`}},
		{"version: 1\nrate: 5\ndefaults:\n  method: {w: previous}\n", 4, 12, []string{`a method for column "w"`}},
	} {
		p, err := planfile.Parse("p.yaml", []byte(c.text))
		require.NoError(t, err)
		for name, run := range map[string]func() error{
			"resample": func() error { _, err := align.Resample(ctx, cpu(t), e, p); return err },
			"fuse":     func() error { _, err := align.Fuse(ctx, cpu(t), e, p); return err },
		} {
			err := run()
			var at *clocks.InPlanError
			require.ErrorAs(t, err, &at, name)
			assert.Equal(t, [2]int{c.line, c.column}, [2]int{at.Line, at.Column}, "%s: %v", name, err)
			for _, w := range c.want {
				assert.ErrorContains(t, err, w, name)
			}
		}
	}
}

func FuzzParsePlan(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte("a: &x [*x]\n<<: *x\n"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Add([]byte("version: 1\nrate: 1e400\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := planfile.Parse("p.yaml", text); err == nil {
			require.NoError(t, p.Check())
		} else {
			var e *align.PlanError
			require.ErrorAs(t, err, &e)
			require.Positive(t, e.Line+len(text)/(1<<20), "%v", err)
		}
	})
}

func TestMistakesThatOnlyARecordingShowsHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"version: 1\nrate: 50\ndefaults: {method: window-mean}\n":            "p.yaml: line 3, column 11: defaults.window: got none for window-mean",
		"version: 1\nrate: 50\nstreams:\n- name: s\n  method: window-max\n":  "p.yaml: line 4, column 3: streams[0].window: got none for window-max",
		"version: 1\nstreams: [{name: s}]\n":                                 "rate: got none, want the Hz of the common clock",
		"version: 1\nrate: 50\ndefaults: {method: angle, period: 0}\n":       "line 3, column 35: defaults.period: got 0, want a number above 0",
		"\ufeffversion: 1\nrate: 50\nstreams:\n- name: s\n  edge: outside\n": "line 5, column 9: streams[0].edge",
	} {
		plan, err := planfile.Parse("p.yaml", []byte(text))
		if err == nil {
			s := numbered(t, "s", every(50, func(i int) int64 { return int64(i) * 100 * ms }))
			_, err = align.Resample(context.Background(), cpu(t), episode(s), plan)
		}
		var bad *align.PlanError
		require.ErrorAs(t, err, &bad, text)
		assert.ErrorContains(t, err, want)
	}
}

// The ends of windows and ranges are lengths of time, or numbers of seconds.
func TestWindowsOfAPlanTakeDurations(t *testing.T) {
	parsed := func(text string) align.Plan {
		p, err := planfile.Parse("p.yaml", []byte("version: 1\nrate: 10\n"+text))
		require.NoError(t, err)
		return p
	}
	want := align.Window{From: -500 * time.Millisecond, To: time.Second}
	for _, text := range []string{"[-500ms, 1s]", "[-0.5, 1]", "[-0.5s, 1000ms]", "[-500ms, 1.0]", `["-500ms", 1]`} {
		assert.Equal(t, want, parsed("windows: {action: " + text + "}").Windows["action"], text)
		assert.Equal(t, align.Between(want.From, want.To), parsed("range: "+text).Range, text)
	}
	assert.Equal(t, []time.Duration{-4e8, 0, 1e7}, parsed("windows: {action: {at: [-400ms, 0, 0.01]}}").Windows["action"].At)
	for _, text := range []string{"{at: []}", "{at: 3}", "{at: [soon]}", "{at: [0], to: 1}", "{}", "{at: [1s, 2000h, 9e9]}"} {
		_, err := planfile.Parse("p.yaml", []byte("version: 1\nrate: 10\nwindows: {action: "+text+"}\n"))
		assert.ErrorContains(t, err, "windows.action", text)
	}
}

// A plan that is written is read as it was.
func TestAPlanThatIsWrittenIsReadAsItWas(t *testing.T) {
	for _, text := range []string{
		whole, "version: 1\nrate: 0.1\n", "version: 1\nrate: 5\nrange: union\nunordered: sort\nfilter: {success: false}\npadding: diffusion_policy\npad_after: 0s\nsnap: 0s\n",
		"version: 1\nrate: 5\nstreams: [{name: a, points: {k: 4, min: [0, 0, 0], max: [1, 2, 3], near: 0.5, far: 2, scale: 0.1, intrinsics: [1, 2, 3, 4], fixed: base, pose: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]}}, {name: b, points: {k: 1}}]\n",
		"version: 1\nrate: 5\ndefaults: {fill: -.inf, method: {\"a \\\" b\": linear, \"0:2\": previous}}\nstreams: [{name: a, fill: .inf}, {name: b, fill: .nan}]\nshuffle: none\nwindows: {a: {at: [-0.4, 0s]}, b: [-1, 0]}\n",
	} {
		p, err := planfile.Parse("p.yaml", []byte(text))
		require.NoError(t, err, text)
		b, err := planfile.JSON(&p)
		require.NoError(t, err)
		assert.True(t, json.Valid(b))
		q, err := planfile.Parse("p.json", b)
		require.NoError(t, err, string(b))
		again, err := planfile.JSON(&q)
		require.NoError(t, err)
		assert.Equal(t, string(b), string(again))
		for _, plan := range []*align.Plan{&p, &q} {
			for i := range plan.Streams {
				if v := plan.Streams[i].Fill.Get(); v != v {
					plan.Streams[i].Fill = ops.FillWith(-7)
				}
			}
		}
		assert.EqualExportedValues(t, p, q, text)
	}
	for _, p := range []align.Plan{{Targets: tensor.Must(tensor.Of([]int64{1}, 1))}, {Rate: 1, Defaults: align.Sampling{Kind: "linear", Kinds: []align.ColumnKind{{"a", "next"}}}}} {
		_, err := planfile.JSON(&p)
		var e *align.PlanError
		assert.ErrorAs(t, err, &e)
	}
}

// A window is for the kinds that look at one, be they of the stream or of the defaults.
func TestAWindowThatNoKindLooksAtIsAMistake(t *testing.T) {
	for text, column := range map[string]int{
		"defaults: {window: 1s}":                                                            20,
		"defaults: {method: window-mean, window: 1s}":                                       0,
		"defaults: {method: window-mean}\nstreams: [{name: a, window: 1s}]":                 0,
		"defaults: {window: 1s}\nstreams: [{name: a, method: {x: window-last}}, {name: b}]": 0,
		"defaults: {window: 1s, method: window-mean}\nstreams: [{name: a, method: linear}]": 0,
		"streams: [{name: a, window: 1s}]":                                                  29,
	} {
		_, err := planfile.Parse("p.yaml", []byte("version: 1\nrate: 5\n"+text+"\n"))
		if column == 0 {
			assert.NoError(t, err, text)
			continue
		}
		var e *align.PlanError
		require.ErrorAs(t, err, &e, text)
		assert.Equal(t, []int{3, column}, []int{e.Line, e.Column}, text)
	}
}

// Plan files on disks have the key kind, which is the old name of method. As the name of a stream or a column it stays.
func TestTheOldKeyKindIsMethod(t *testing.T) {
	parse := func(key string) (align.Plan, error) {
		return planfile.Parse("p.yaml", []byte("version: 1\nrate: 5\ndefaults: {"+key+": previous}\nstreams:\n- name: kind\n  "+key+": {kind: slerp}\nwindows: {kind: [0, 1]}\n"))
	}
	old, err := parse("kind")
	require.NoError(t, err)
	plan, err := parse("method")
	require.NoError(t, err)
	old.SetOrigin(nil)
	plan.SetOrigin(nil)
	assert.Equal(t, plan, old)
	assert.Equal(t, []align.ColumnKind{{Columns: "kind", Kind: "slerp"}}, old.Streams[0].Kinds)
	text, err := planfile.JSON(&old)
	require.NoError(t, err)
	assert.Contains(t, string(text), "method")
	for text, want := range map[string]string{"kind: cubic": "defaults.method: got \"cubic\"", "kind: next, method: next": "each key once"} {
		_, err = planfile.Parse("p.yaml", []byte("version: 1\nrate: 5\ndefaults: {"+text+"}\n"))
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "line 3")
	}
}

// Whatever is wrong with the value of a key, the error is of its line.
func TestAWrongValueIsToldInItsLine(t *testing.T) {
	lines := strings.Split(whole, "\n")
	wrong := 0
	for i, line := range lines {
		key, value, found := strings.Cut(line, ": ")
		if !found || strings.HasPrefix(strings.TrimSpace(value), "{") && strings.Contains(value, "},") {
			continue
		}
		for _, bad := range []string{"{}", "[]", "null", "~", "", "-1", "x", "1e400", ".nan", "[1, 2, 3]", "{a: 1}", "\"\"", "0", "*a", "&a 1", "|\n  text", "!!int 3", "true", "99999999999999999999", "1s", "[x]", "[[1]]"} {
			text := strings.Join(append(append(append([]string{}, lines[:i]...), key+": "+bad), lines[i+1:]...), "\n")
			p, err := planfile.Parse("p.yaml", []byte(text))
			if err == nil {
				require.NoError(t, p.Check())
				continue
			}
			wrong++
			var e *align.PlanError
			require.ErrorAs(t, err, &e, "%s: %s", key, bad)
			if e.Key == "streams[0].window" && strings.TrimSpace(key) == "method" { // which the window is without then
				continue
			}
			if strings.TrimSpace(key) == "name" || strings.TrimSpace(key) == "- name" { // which windows name
				continue
			}
			if line := i + 1; !strings.Contains(bad, "\n") || e.Line != line+1 { // the text of a block begins in the next
				assert.Equal(t, line, e.Line, "%s: %s: %v", key, bad, err)
			}
			assert.Positive(t, e.Column, "%s: %s: %v", key, bad, err)
			assert.NotContains(t, err.Error(), "\n", "%s: %s", key, bad)
		}
	}
	assert.Greater(t, wrong, 200)
}
