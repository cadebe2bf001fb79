package loader_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/all"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// saved saves a store of a dataset, and opens it.
func saved(t *testing.T, d dataset.Dataset, opt store.BuildOptions) (built, opened *store.Store, path string) {
	t.Helper()
	built, err := store.Build(context.Background(), d, opt)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "s.safetensors")
	require.NoError(t, built.Save(path))
	opened, err = store.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return built, opened, path
}

func TestUseAfterCloseIsAnError(t *testing.T) {
	ctx := context.Background()
	built, opened, path := saved(t, recordings(t), store.BuildOptions{})
	for _, s := range []*store.Store{built, opened} {
		e, err := s.Episode(ctx, 1)
		require.NoError(t, err)
		_, err = e.Streams[0].Values.Contiguous()
		require.NoError(t, err)
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		_, err = s.Episode(ctx, 1)
		assert.ErrorIs(t, err, dataset.ErrClosed)
		_, err = tensor.Data[float32](e.Streams[0].Values)
		assert.ErrorIs(t, err, tensor.ErrClosed)
		assert.ErrorIs(t, s.Save(path), dataset.ErrClosed)
		assert.ErrorIs(t, s.Guard(func() error { t.Error("called"); return nil }), dataset.ErrClosed)
		assert.Empty(t, e.Streams[0].Nanoseconds())
	}
}

func TestAStoreThatIsReplacedWhileItIsOpenStays(t *testing.T) {
	built, opened, path := saved(t, recordings(t), store.BuildOptions{})
	other := inMemory(t, recordings(t)[:1])
	require.NoError(t, other.Save(path))
	require.NoError(t, opened.Guard(func() error {
		want, err := tensor.Floats(built.Streams[0].Values)
		require.NoError(t, err)
		got, err := tensor.Floats(opened.Streams[0].Values)
		assert.Equal(t, want, got)
		return err
	}))
	require.NoError(t, opened.Save(path), "over what it is not any more")
	again, err := store.Open(path)
	require.NoError(t, err)
	assert.Equal(t, built.Len(), again.Len())
	require.NoError(t, again.Close())
}

func TestAStoreThatIsCutShortWhileItIsOpenIsAnError(t *testing.T) {
	ctx := context.Background()
	d := many(t, 1e6)
	_, opened, path := saved(t, d, store.BuildOptions{})
	e, err := opened.Episode(ctx, d.n-1)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 8192))
	_, err = opened.Episode(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	err = opened.Guard(func() error { t.Error("called"); return nil })
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	assert.ErrorIs(t, opened.Save(filepath.Join(t.TempDir(), "s")), dataset.ErrTruncated)

	_, opened, path = saved(t, d, store.BuildOptions{})
	e, err = opened.Episode(ctx, d.n-1)
	require.NoError(t, err)
	err = opened.Guard(func() error {
		require.NoError(t, os.Truncate(path, 8192))
		_, err := tensor.Floats(e.Stream("imu").Values)
		return err
	})
	assert.ErrorIs(t, err, dataset.ErrTruncated, "while it is read")
	assert.ErrorContains(t, err, path)
}

// A loader of a store that is cut short, or of a closed one, is an error; one that was made needs the store no more.
func TestALoaderIsMadeOfAWholeStore(t *testing.T) {
	ctx := context.Background()
	device := open(t, "cpu")
	opt := loader.Options{Batch: 8, Last: ops.LastShort}
	_, opened, path := saved(t, recordings(t), store.BuildOptions{})
	l, err := loader.New(ctx, device, opened, plan(), opt)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 4096))
	_, err = loader.New(ctx, device, opened, plan(), opt)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	require.NoError(t, opened.Close())
	_, err = loader.New(ctx, device, opened, plan(), opt)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	got, want := map[int64]uint64{}, map[int64]uint64{}
	digests(t, l, got, 0, 1, 8)
	require.NoError(t, l.Close())
	digests(t, load(t, "cpu", recordings(t), plan(), opt), want, 0, 1, 8)
	assert.Equal(t, want, got)
}

// told is a dataset with a long description.
type told struct {
	made
	info dataset.Info
}

func (d told) Info() dataset.Info { return d.info }

func TestWhatADatasetSaysOfItselfIsKept(t *testing.T) {
	ctx := context.Background()
	d := told{recordings(t), dataset.Info{
		Version: "v3.0", Rate: 12.5, RateFrom: "file", Declared: 12.5, Clock: "timestamp", Clocks: []string{"timestamp", "frame_index"},
		Features: []dataset.Feature{{Name: "state", DType: "float32", Shape: []int{5}, Names: []string{"x", "y"}}, {Name: "eye", DType: "video", Shape: []int{4, 4, 3}}},
		Tasks:    []string{"lift", "drop"}, Frames: 77, Splits: []dataset.Split{{Name: "train", Episodes: []int{0, 2, 6}}}, Attributes: map[string]string{"robot": "arm <1>"},
		Notes: dataset.Notes{{Code: dataset.CodeMediaFileMissing, Subject: "eye"}},
	}}
	success := false
	e := d.made[3]
	e.Rotation, e.Frames, e.Attributes.Success = dataset.RotationWXYZ, 25, &success
	e.Dropouts = []dataset.Dropout{{Time: 5, Duration: 6}}
	e.Notes = dataset.Notes{{Code: dataset.CodeNoSamples, Subject: "none"}, {Code: dataset.CodeText, Subject: "text"}, {Code: dataset.CodeMixedImages, Subject: "imu"}, {Code: dataset.CodeLogClock, Subject: "state"}}
	e.Empty = []dataset.EmptyStream{{Name: "none", Columns: []dataset.Column{{Name: "0", Type: "int", Integer: true}}, DType: tensor.F64}}
	e.Streams = []dataset.Stream{e.Streams[0], e.Streams[2]}
	e.Notes.AddDamage(dataset.CodeMessageShort, 3, nil)
	built, opened, _ := saved(t, d, store.BuildOptions{})
	for _, s := range []*store.Store{built, opened} {
		assert.Equal(t, d.info, s.Info())
		assert.Equal(t, []string{d.Name(), d.Format()}, []string{s.Name(), s.Format()})
		got, err := s.Episode(ctx, 3)
		require.NoError(t, err)
		assert.Equal(t, []string{"train"}, s.Episodes[2].Splits)
		assert.Equal(t, dataset.RotationWXYZ, got.Rotation)
		assert.Equal(t, 25, got.Frames)
		assert.Equal(t, &success, got.Attributes.Success)
		assert.Equal(t, e.Notes, got.Notes)
		assert.Equal(t, e.Dropouts, got.Dropouts)
		assert.Equal(t, []dataset.EmptyStream{{Name: "imu", Columns: built.Stream("imu").Columns, DType: tensor.F32}, e.Empty[0]}, got.Empty)
	}
	assert.Equal(t, built.Episodes, opened.Episodes)
}

// A store of the shared recordings has the same contents whether it is built or opened.
func TestStoresOfRecordingsAreKept(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	const shared = "../../shared/data"
	folders, err := os.ReadDir(shared)
	if err != nil {
		t.Skip("the shared recordings are not here: ", shared)
	}
	ctx := context.Background()
	count := 0
	var visit func(path string, deep int)
	visit = func(path string, deep int) {
		d, err := dataset.Open(ctx, path, dataset.Options{})
		if err != nil {
			entries, _ := os.ReadDir(path)
			for _, e := range entries {
				if deep > 0 {
					visit(filepath.Join(path, e.Name()), deep-1)
				}
			}
			return
		}
		defer d.Close()
		built := inMemory(t, d)
		if built.Any() != nil {
			return
		}
		count++
		_, opened, _ := saved(t, d, store.BuildOptions{})
		assert.Equal(t, withoutNothing(built.Info()), opened.Info(), path)
		assert.Equal(t, savedText(t, built.Episodes), savedText(t, opened.Episodes), path)
		for i := range built.Len() {
			want, err := built.Episode(ctx, i)
			require.NoError(t, err)
			got, err := opened.Episode(ctx, i)
			require.NoError(t, err)
			for _, e := range []*dataset.Episode{want, got} {
				for k := range e.Streams { // the numbers, not the memory that they are in
					s := &e.Streams[k]
					s.Values, err = s.Values.Take(0, rowsOf(s))
					require.NoError(t, err)
					s.Times, err = s.Times.Take(0, rowsOf(s))
					require.NoError(t, err)
				}
			}
			assert.Equal(t, fmt.Sprintf("%+v", bitsOf(t, want)), fmt.Sprintf("%+v", bitsOf(t, got)), path)
			assert.Equal(t, savedText(t, want.Notes), savedText(t, got.Notes), path)
		}
	}
	for _, f := range folders {
		visit(filepath.Join(shared, f.Name()), 1)
	}
	assert.Greater(t, count, 10)
}

// savedText returns a value as a file has it, where the cause of a note is its text.
func savedText(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", " ")
	require.NoError(t, err)
	return string(text)
}

// withoutNothing makes lists without elements nil.
func withoutNothing(i dataset.Info) dataset.Info {
	if len(i.Attributes) == 0 {
		i.Attributes = nil
	}
	if len(i.Notes) == 0 {
		i.Notes = nil
	}
	return i
}

func rowsOf(s *dataset.Stream) []int {
	list := make([]int, s.Times.Len())
	for i := range list {
		list[i] = i
	}
	return list
}

// bitsOf returns the numbers of an episode's streams.
func bitsOf(t *testing.T, e *dataset.Episode) (list []any) {
	t.Helper()
	for i := range e.Streams {
		s := &e.Streams[i]
		values, err := tensor.Data[float32](s.Values)
		require.NoError(t, err)
		list = append(list, s.Name, s.Columns, s.Nanoseconds(), values)
	}
	return list
}

// tiny is a small store's file.
func tiny(t testing.TB) []byte {
	t.Helper()
	times := []int64{0, 1, 2}
	var m made
	for i := range 2 {
		s, err := dataset.NewStream("s", times[i:], tensor.Must(tensor.New(tensor.F32, 3-i, 2)), nil)
		require.NoError(t, err)
		m = append(m, &dataset.Episode{Name: fmt.Sprint(i), Streams: []dataset.Stream{s}})
	}
	store := inMemory(t, m)
	path := filepath.Join(t.TempDir(), "s.safetensors")
	require.NoError(t, store.Save(path))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

func TestAStoreThatEndsTooSoonIsRefused(t *testing.T) {
	whole := tiny(t)
	path := filepath.Join(t.TempDir(), "s.safetensors")
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	for n := len(whole) - 1; n >= 0; n-- {
		require.NoError(t, os.Truncate(path, int64(n)))
		_, err := store.Open(path)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, "%d bytes", n)
	}
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	s, err := store.Open(path)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

// tryOpen opens a file and reads all that is in it, if it is a store.
func tryOpen(t *testing.T, b []byte) {
	t.Helper()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "s.safetensors")
	require.NoError(t, os.WriteFile(path, b, 0o600))
	store.IsStore(path)
	s, err := store.Open(path)
	if err != nil {
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
		return
	}
	defer s.Close()
	for i := range s.Len() {
		e, err := s.Episode(ctx, i)
		require.NoError(t, err)
		for k := range e.Streams {
			require.NoError(t, e.Streams[k].Check())
			e.Streams[k].Nanoseconds()
			_, err := tensor.Floats(e.Streams[k].Values)
			require.NoError(t, err)
		}
		for k := range e.Media {
			for n := range e.Media[k].Len() {
				if _, err := e.Media[k].Frame(ctx, n); err != nil {
					var bad *dataset.FormatError
					require.ErrorAs(t, err, &bad)
				}
			}
		}
	}
}

// FuzzOpen opens files that nobody has written.
func FuzzOpen(f *testing.F) {
	f.Add(tiny(f))
	f.Add(tiny(f)[:100])
	f.Fuzz(tryOpen)
}

// FuzzIndex opens stores with random indexes.
func FuzzIndex(f *testing.F) {
	for _, text := range []string{
		`{"version":2,"name":"a","format":"b","streams":[{"name":"s","columns":[{"Name":"0"},{"Name":"1","Rotation":1}]}],"episodes":[{"name":"0","number":0},{"name":"1","number":1}]}`,
		`{"version":2,"rate":1e300,"splits":[{"Name":"x","Episodes":[-1,99]}],"streams":[],"episodes":[{"rotation":9}]}`, `{"version":2,"streams":null,"episodes":[]}`,
		`{"version":2,"streams":[],"media":[{"name":"c","encoding":"jpeg","width":-1}],"episodes":[{},{}]}`, `{"version":2,"media":[{"name":"c","encoding":"rgb8","width":1,"height":1}],"episodes":[{},{}]}`, `{"version":1}`, `[]`,
		`{"version":2,"streams":[{"name":"s"},{"name":"s"}],"episodes":[{},{}]}`,
	} {
		f.Add(text, int64(3), int64(5))
	}
	f.Fuzz(func(t *testing.T, text string, a, b int64) {
		var file bytes.Buffer
		w := safetensors.NewWriter(&file)
		require.NoError(t, errors.Join(w.Add("s.values", tensor.Must(tensor.New(tensor.F32, 5, 2))), w.Add("s.times", tensor.Must(tensor.Of([]int64{a, b, 2, 3, 4}, 5))),
			w.Add("s.offsets", tensor.Must(tensor.Of([]int64{0, a, b}, 3))), w.Add("c.frames", tensor.Must(tensor.New(tensor.U8, 9))),
			w.Add("c.frame_offsets", tensor.Must(tensor.Of([]int64{0, a, b, 9}, 4))), w.Add("c.times", tensor.Must(tensor.Of([]int64{3, 4, 5}, 3))),
			w.Add("c.offsets", tensor.Must(tensor.Of([]int64{0, 2, 3}, 3)))))
		if err := w.AddText("robocache.store", text); err != nil {
			require.ErrorContains(t, err, "UTF-8")
			return
		}
		require.NoError(t, errors.Join(w.AddSums(), w.Close()))
		tryOpen(t, file.Bytes())
	})
}

func TestAnIndexThatCannotBeIsRefused(t *testing.T) {
	whole := string(tiny(t))
	path := filepath.Join(t.TempDir(), "s.safetensors")
	for what, change := range map[string][2]string{
		"a stream twice":  {`\"streams\":[{\"name\":\"s\",\"columns\":[`, `\"streams\":[{\"name\":\"s\",\"columns\":null},{\"name\":\"s\",\"columns\":[`},
		"a rotation":      {`\"Rotation\":0`, `\"Rotation\":3`},
		"of an episode":   {`\"number\":1`, `\"rotation\":3`},
		"a rate":          {`\"version\":2,`, `\"version\":2,\"rate\":-1,`},
		"frames":          {`\"version\":2,`, `\"version\":2,\"frames\":-1,`},
		"episodes":        {`\"episodes\":[`, `\"episodes\":[{},`},
		"another stream":  {`\"streams\":[{\"name\":\"s\"`, `\"streams\":[{\"name\":\"t\"`},
		"another column":  {`\"columns\":[`, `\"columns\":[{},`},
		"times as values": {`s.times`, `s.timex`},
	} {
		text := strings.Replace(whole, change[0], change[1], 1)
		require.NotEqual(t, whole, text, what)
		grown := len(text) - len(whole)
		head := int(whole[0]) | int(whole[1])<<8 // bytes of the header, by its own length field
		for ; grown < 0; grown++ {
			text = text[:8+head+grown] + " " + text[8+head+grown:]
		}
		if grown > 0 {
			text = string([]byte{byte(head + grown), byte((head + grown) >> 8)}) + text[2:]
		}
		require.NoError(t, os.WriteFile(path, filetest.Reseal(t, []byte(text)), 0o600))
		_, err := store.Open(path)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, what)
		assert.NotContains(t, err.Error(), "checksum", what)
	}
}

func TestStreamsThatAreNoneAreNoted(t *testing.T) {
	good, err := dataset.NewStream("good", []int64{0, 1}, tensor.Must(tensor.New(tensor.F32, 2, 1)), nil)
	require.NoError(t, err)
	short, wild := good, good
	short.Name, short.Times = "short", tensor.Must(tensor.Of([]int64{0}, 1))
	wild.Name, wild.Times = "wild", tensor.Must(tensor.Of([]float64{0, 1e300}, 2))
	store := inMemory(t, made{{Name: "e", Streams: []dataset.Stream{good, short, wild}}})
	notes := store.Episodes[0].Notes
	require.Len(t, notes, 2)
	assert.Equal(t, []any{dataset.CodeInvalidStream, "short"}, []any{notes[0].Code, notes[0].Subject})
	assert.Equal(t, dataset.Note{Code: dataset.CodeTimeRefused, Subject: "wild", Count: 2, Row: dataset.At(1), Detail: dataset.Detail{Got: "1e+300"}}, notes[1])
}
