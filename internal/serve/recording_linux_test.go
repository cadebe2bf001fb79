package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

const (
	flightLog = "../../examples/data/flight.ulg"
	g1        = "../../examples/data/g1"
	imageFile = "../../dataset/aloha/testdata/raw.hdf5"
)

// decoded decodes a reply into a struct.
func decoded[T any](t *testing.T, a answer) (v T) {
	t.Helper()
	text, err := json.Marshal(a.object)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &v))
	return v
}

// memoryOf maps a reply's sealed memory, and closes it.
func memoryOf(t *testing.T, a answer) []byte {
	t.Helper()
	require.NotNil(t, a.file)
	defer a.file.Close()
	st, err := a.file.Stat()
	require.NoError(t, err)
	seals, err := unix.FcntlInt(a.file.Fd(), unix.F_GET_SEALS, 0)
	require.NoError(t, err)
	assert.Equal(t, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL, seals)
	flags, err := unix.FcntlInt(a.file.Fd(), unix.F_GETFD, 0)
	require.NoError(t, err)
	assert.Equal(t, unix.FD_CLOEXEC, flags)
	b, err := unix.Mmap(int(a.file.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, unix.Munmap(b)) })
	return b
}

// assertSent compares a tensor with a received array.
func assertSent(t *testing.T, memory []byte, sent array, want *tensor.Tensor, what string) {
	t.Helper()
	want, err := want.Contiguous()
	require.NoError(t, err)
	b, err := raw.Of(want)
	require.NoError(t, err)
	assert.Equal(t, want.DType().String(), sent.DType, what)
	assert.Equal(t, want.Shape(), sent.Shape, what)
	assert.Zero(t, sent.At%arenaAlign, what)
	assert.Equal(t, string(b), string(memory[sent.At:int(sent.At)+len(b)]), what)
}

func (c *client) open(path string) int {
	c.t.Helper()
	n, err := c.good("open", object{"path": path}).object["handle"].(json.Number).Int64()
	require.NoError(c.t, err)
	return int(n)
}

func TestAnEpisodeComesAsItWasRead(t *testing.T) {
	c := connect(t)
	log, err := ulog.ReadFile(flightLog, ulog.Options{})
	require.NoError(t, err)
	h := c.open(flightLog)
	var columns [][]inspection.Column
	for i := range 2 { // read, and kept
		a := c.good("episode", object{"handle": h, "known": len(columns)})
		got, memory := decoded[episodeReply](t, a), memoryOf(t, a)
		require.Len(t, got.Streams, len(log.Streams))
		assert.Equal(t, i == 0, len(got.Columns) > 0, "those that are known are not sent again")
		columns = append(columns, got.Columns...)
		for i, s := range log.Streams {
			assert.Equal(t, s.Name, got.Streams[i].Name)
			assert.Equal(t, inspection.Columns(s.Columns), columns[got.Streams[i].Columns])
			assertSent(t, memory, got.Streams[i].Times, s.Times, s.Name)
			assertSent(t, memory, got.Streams[i].Values, s.Values, s.Name)
		}
		assert.Len(t, got.LeftOut, len(log.Notes.Of(dataset.ClassLeftOut)))
		assert.Len(t, got.Dropouts, 1)
	}
}

func TestAlignSendsWhatResampleAndFuseGive(t *testing.T) {
	c := connect(t)
	h := c.open(g1)
	d := settest.Open(t, g1)
	e := settest.Episode(t, d, 2)
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	ask := object{"handle": h, "episode": 2, "plan": "version: 1\nrate: 50\nrange: union"}
	plan := align.Plan{Rate: 50, Range: align.Range{Mode: align.RangeUnion}}

	apart, err := align.Resample(context.Background(), cpu, e, plan)
	require.NoError(t, err)
	a := c.good("align", ask)
	got, memory := decoded[aligned](t, a), memoryOf(t, a)
	assertSent(t, memory, got.Times, apart.Times, "times")
	require.Len(t, got.Streams, 2)
	for i, s := range apart.Streams {
		assertSent(t, memory, *got.Streams[i].Values, s.Values, s.Name)
		assertSent(t, memory, *got.Streams[i].Valid, s.Valid, s.Name)
		assertSent(t, memory, *got.Streams[i].Age, s.Age, s.Name)
		assertSent(t, memory, *got.Streams[i].Pad, s.Pad, s.Name)
	}

	fused, err := align.Fuse(context.Background(), cpu, e, plan)
	require.NoError(t, err)
	ask["fuse"] = true
	a = c.good("align", ask)
	got, memory = decoded[aligned](t, a), memoryOf(t, a)
	for _, x := range []struct {
		sent *array
		want *tensor.Tensor
	}{{&got.Times, fused.Times}, {got.Values, fused.Values}, {got.Valid, fused.Valid}, {got.Age, fused.Age}, {got.Pad, fused.Pad}} {
		assertSent(t, memory, *x.sent, x.want, "fuse")
	}
	assert.Contains(t, got.Text, "clock: 682 timestamps at 50 Hz")
}

func TestClockStatisticsAreThoseOfTheDataset(t *testing.T) {
	c := connect(t)
	times := []int64{5, 1, 3, 3, 90, math.MaxInt64}
	a, err := c.try("stats", object{"dtype": "i64"}, raw.Bytes(times))
	require.NoError(t, err)
	want := dataset.StatsOf(times)
	got := decoded[struct {
		Median    int64 `json:"median_ns"`
		Last      int64 `json:"last_ns"`
		Gaps      int   `json:"gaps"`
		Repeated  int   `json:"duplicates"`
		BackSteps int   `json:"back_steps"`
	}](t, a)
	assert.Equal(t, []int64{want.Median, want.Last}, []int64{got.Median, got.Last})
	assert.Equal(t, []int{want.Gaps, want.Duplicates, want.BackSteps}, []int{got.Gaps, got.Repeated, got.BackSteps})
	for dtype, blob := range map[string][]byte{"f16": nil, "": nil, "i64": make([]byte, 9)} {
		a, err := c.try("stats", object{"dtype": dtype}, blob)
		require.NoError(t, err)
		assert.Equal(t, "RequestError", a.error().Class)
	}
}

func TestFramesComeInTheOrderThatIsAskedFor(t *testing.T) {
	c := connect(t)
	h := c.open(imageFile)
	d := settest.Open(t, imageFile)
	e := settest.Episode(t, d, 0)
	m := &e.Media[0]
	list := []int{1, 0, 1, m.Len() - 1}
	a := c.good("frames", object{"handle": h, "camera": m.Name, "frames": list})
	memory := memoryOf(t, a)
	sent := decoded[struct{ Frames array }](t, a).Frames
	for i, n := range list {
		want, err := m.Decode(context.Background(), n)
		require.NoError(t, err)
		one := array{"u8", want.Shape(), 0}
		assert.Equal(t, append([]int{4}, want.Shape()...), sent.Shape)
		assertSent(t, memory[i*want.Len():], one, want, "frame")
	}
	none := c.good("frames", object{"handle": h, "camera": m.Name, "frames": []int{}})
	assert.Nil(t, none.file)
	for _, bad := range []object{{"camera": "none"}, {"camera": m.Name, "frames": []int{-1}}, {"camera": m.Name, "frames": []int{m.Len()}}, {"camera": m.Name, "height": 3}} {
		bad["handle"] = h
		c.bad("frames", bad)
	}
}

// held counts the descriptors in this process, and its mappings of memfds.
func held(t *testing.T) (fds, maps int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	text := filetest.Read(t, "/proc/self/maps")
	return len(list), strings.Count(string(text), "memfd:")
}

func TestNothingOfWhatWasSentIsKept(t *testing.T) {
	c := connect(t)
	fds, maps := 0, 0
	for i := range 20 {
		h := c.open(g1)
		for _, a := range []answer{c.good("episode", object{"handle": h, "episode": 1}), c.good("align", object{"handle": h, "plan": "version: 1\nrate: 9"})} {
			require.NoError(t, a.file.Close())
		}
		c.bad("align", object{"handle": h, "plan": "version: 1\nrate: 9\nstreams: [{name: nothing}]"})
		c.good("close", object{"handles": []int{h, h, 99}})
		c.good("close", object{}) // the reply before it was sent, and its memory closed, once this one is there
		if i == 0 {
			fds, maps = held(t)
		}
	}
	last, mapped := held(t)
	assert.Equal(t, []int{fds, maps}, []int{last, mapped})
}

func TestWhatIsWrongWithARecordingIsToldWithItsPlace(t *testing.T) {
	c := connect(t)
	dir := t.TempDir()
	whole := filetest.Read(t, flightLog)
	cut := filepath.Join(dir, "cut.ulg")
	filetest.Write(t, cut, whole[:len(whole)/2])
	h, err := c.good("open", object{"path": cut, "strict": true}).object["handle"].(json.Number).Int64()
	require.NoError(t, err)
	f := c.bad("episode", object{"handle": h})
	assert.Equal(t, []string{"RecordingError", cut}, []string{f.Class, f.Path})
	require.NotNil(t, f.Offset)
	assert.Positive(t, *f.Offset)

	f = c.bad("open", object{"path": filepath.Join(dir, "none")})
	assert.Equal(t, []string{"RecordingError", filepath.Join(dir, "none")}, []string{f.Class, f.Path})
	f = c.bad("open", object{"path": flightLog, "clock": "sundial"})
	assert.Equal(t, []string{"OptionError", "Clock", "sundial"}, []string{f.Class, f.Arg, f.Got})
	h2 := c.open(flightLog)
	f = c.bad("align", object{"handle": h2, "plan": `{version: 1, rate: 50, defaults: {method: linaer}}`})
	assert.Equal(t, []string{"PlanError", "kind", "0"}, []string{f.Class, f.Arg, string(rune('0' + f.Line))})
	f = c.bad("align", object{"handle": h2, "plan": "version: 1\nrate: 50\nstreams:\n- name: none", "plan_path": "p.yaml"})
	assert.Equal(t, []any{"PlanError", "none", 4}, []any{f.Class, f.Stream, f.Line})
	f = c.bad("episode", object{"handle": h2, "episode": 1})
	assert.Contains(t, f.Message, "want 0 to 0")
	f = c.bad("inspect", object{"handle": h2, "episode": 1})
	assert.Contains(t, f.Message, "want 0 to 0")
	for _, do := range []string{"episode", "inspect", "frames"} {
		assert.Equal(t, "handle", c.bad(do, object{"handle": 12345}).Arg)
	}
}

func TestMemoryThatThereIsNotIsSaidBeforeItIsTaken(t *testing.T) {
	a := arrays{size: tensor.Available() + 1<<40}
	_, err := a.memory("episode 3")
	var short *ops.MemoryError
	require.ErrorAs(t, err, &short)
	assert.Equal(t, "episode 3", short.What)
	f := failureOf((&recording{Dataset: dataset.Single("npz", "a.npz", nil), path: "a.npz"}).fails(0, err))
	assert.Equal(t, []string{"MemoryError", "a.npz"}, []string{f.Class, f.Path})
}

func TestEpisodesAreThoseAskedForWhateverIsReadAhead(t *testing.T) {
	dir := t.TempDir()
	whole := filetest.Read(t, flightLog)
	for i := range 8 {
		log := whole
		if i == 3 {
			log = whole[:10]
		}
		filetest.Write(t, filepath.Join(dir, string(rune('a'+i))+".ulg"), log)
	}
	c := connect(t)
	before := runtime.NumGoroutine()
	h := c.open(dir)
	for _, i := range []int{0, 1, 2, 3, 4, 5, 2, 3, 4, 4, 7, 6, 7, 0, 1, 2} {
		ask := object{"handle": h, "episode": i}
		if i == 3 {
			f := c.bad("episode", ask)
			assert.Equal(t, []string{"RecordingError", filepath.Join(dir, "d.ulg")}, []string{f.Class, f.Path})
			assert.Contains(t, f.Message, "episode 3: ")
			continue
		}
		a := c.good("episode", ask)
		require.NoError(t, a.file.Close())
		got := decoded[episodeReply](t, a)
		assert.Equal(t, []any{i, string(rune('a' + i))}, []any{got.Number, got.Name})
	}
	for _, i := range []int{8, -1, 6, 7, 8, 9} {
		a := c.ask("episode", object{"handle": h, "episode": i})
		assert.Equal(t, i == 6 || i == 7, a.object["ok"] == true, i)
		if a.file != nil {
			require.NoError(t, a.file.Close())
		}
	}
	c.good("episode", object{"handle": h, "episode": 0})
	c.good("episode", object{"handle": h, "episode": 1})
	c.good("close", object{"handles": []int{h}})
	for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), before)
}

// If many recordings are open, few have episodes in memory.
func TestOfManyRecordingsFewAreKeptInMemory(t *testing.T) {
	s := recordings{open: map[int]*recording{}}
	for h := range 3 * mostKept {
		d, err := inspection.Open(t.Context(), g1, dataset.Options{})
		require.NoError(t, err)
		s.open[h] = &recording{Dataset: d, path: g1, at: -1}
	}
	for i := range 3 { // by then the next one is read ahead
		kept, ahead := 0, 0
		for h := range s.open {
			r, err := s.of(h)
			require.NoError(t, err)
			e, err := r.episode(t.Context(), i)
			require.NoError(t, err)
			assert.Equal(t, fmt.Sprintf("%06d", i), e.Name)
		}
		for _, r := range s.open {
			if r.kept != nil {
				kept++
			}
			if r.ahead != nil {
				ahead++
			}
		}
		assert.Equal(t, mostKept, kept)
		assert.LessOrEqual(t, ahead, mostKept)
	}
	c := Conn{recordings: s}
	for h := range 3 * mostKept {
		_, err := typed(closeHandles)(t.Context(), &c, &Request{JSON: fmt.Appendf(nil, `{"handles":[%d]}`, h)})
		require.NoError(t, err)
	}
	assert.Empty(t, c.recordings.recent, "closed ones are held by nobody")
}
