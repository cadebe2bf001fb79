package calvin_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/calvin"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

const frame51 = "episode_0000051.npz"

// changed returns a copy of the training split in which a file is another; nil removes it.
func changed(t testing.TB, name string, data []byte) string {
	t.Helper()
	dir := copied(t, "testdata/small/training")
	path := filepath.Join(dir, name)
	require.NoError(t, os.Remove(path))
	if data != nil {
		filetest.Write(t, path, data)
	}
	return dir
}

func contents(t testing.TB, name string) []byte {
	t.Helper()
	return filetest.Read(t, filepath.Join("testdata/small/training", name))
}

func openTold(t testing.TB, dir string) (dataset.Dataset, string) {
	t.Helper()
	d := open(t, dir, dataset.Options{})
	var told []string
	for _, n := range d.Info().Notes {
		told = append(told, n.String())
	}
	return d, strings.Join(told, "\n")
}

func TestMissingFrameLeavesAGap(t *testing.T) {
	dir := changed(t, frame51, nil)
	d, told := openTold(t, dir)
	assert.Contains(t, told, dataset.CodeFilesMissing.String()+" "+filepath.Base(dir)+"/ep_start_end_ids.npy: 1 of 10, "+frame51)
	e := episode(t, d, 1)
	assert.Equal(t, 3, e.Frames)
	for _, s := range e.Streams {
		assert.Equal(t, []int64{0, 66666667, 100000000}, s.Nanoseconds(), "the others keep their times")
	}
	assert.Equal(t, []int64{0, 66666667, 100000000}, e.MediaStream("rgb_static").Times)
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, []any{dataset.CodeFrameMissing, 1}, []any{e.Notes.Damage()[0].Code, e.Notes.Damage()[0].Count})
	assert.Equal(t, filepath.Join(dir, frame51), e.Notes.Damage()[0].Cause.(*dataset.FormatError).Path)
	assert.Contains(t, e.Attributes.Other["language"], `"lift the blöck","first":1,"last":2`, "rows of the episode as it is")
	_, err := calvin.Open(context.Background(), dir, dataset.Options{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
}

func TestBrokenFrameCostsItself(t *testing.T) {
	data := contents(t, frame51)
	at := bytes.Index(data, []byte("robot_obs.npy")) + len("robot_obs.npy") + 60 // in its compressed numbers
	data[at] ^= 0xff
	for name, data := range map[string][]byte{"checksum": data, "empty": {}, "half": data[:len(data)/2]} {
		dir := changed(t, frame51, data)
		d, told := openTold(t, dir)
		assert.Empty(t, told, "nobody has read it yet")
		e := episode(t, d, 1)
		assert.Equal(t, 3, e.Frames, name)
		assert.Equal(t, []int64{0, 66666667, 100000000}, e.Stream("actions").Nanoseconds())
		require.Len(t, e.Notes.Damage(), 1)
		assert.Equal(t, [2]any{dataset.CodeFrameBroken, 1}, [2]any{e.Notes.Damage()[0].Code, e.Notes.Damage()[0].Count})
		assert.True(t, strings.HasPrefix(e.Notes.Damage()[0].Cause.(*dataset.FormatError).Path, filepath.Join(dir, frame51)), e.Notes.Damage()[0].Cause.(*dataset.FormatError).Path)
		assert.Nil(t, episode(t, d, 0).Notes.Damage())
		strict := open(t, dir, dataset.Options{Strict: true})
		_, err := strict.Episode(context.Background(), 1)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad, name)
		settest.Episode(t, strict, 0)
	}
}

func TestEpisodeWithoutFramesIsAnErrorOfItsOwn(t *testing.T) {
	dir := copied(t, "testdata/small/training")
	for i := 50; i < 54; i++ {
		require.NoError(t, os.Remove(filepath.Join(dir, fmt.Sprintf("episode_%07d.npz", i))))
	}
	d, told := openTold(t, dir)
	assert.Contains(t, told, "files-missing "+filepath.Base(dir)+"/ep_start_end_ids.npy: 4 of 10")
	_, err := d.Episode(context.Background(), 1)
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	assert.Equal(t, 6, episode(t, d, 0).Frames)
	for i := 37; i < 43; i++ {
		filetest.Write(t, filepath.Join(dir, fmt.Sprintf("episode_%07d.npz", i)), "PK")
	}
	_, err = d.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
}

// frame writes a frame with these arrays.
func frame(t *testing.T, arrays ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	w := npz.NewWriter(&b, npz.Options{})
	for i := 0; i < len(arrays); i += 2 {
		require.NoError(t, w.Add(arrays[i].(string), arrays[i+1].(*tensor.Tensor)))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestFramesThatAreUnlikeTheOthersAreTold(t *testing.T) {
	six := tensor.Must(tensor.Of(make([]float64, 6), 6))
	same := tensor.Must(tensor.Of(make([]float64, 15), 15))
	narrow := tensor.Must(tensor.Of(make([]float32, 24), 24))
	small := tensor.Must(tensor.Of(make([]uint8, 3), 1, 1, 3))
	dir := changed(t, frame51, frame(t, "actions", six, "robot_obs", same, "scene_obs", narrow, "rgb_static", small, "goal", six))
	e := episode(t, open(t, dir, dataset.Options{}), 1)
	assert.Equal(t, 4, e.Frames)
	assert.Equal(t, 4, e.Stream("robot_obs").Len())
	assert.Equal(t, []int{3, 7}, e.Stream("actions").Values.Shape())
	assert.Equal(t, []int64{0, 66666667, 100000000}, e.Stream("actions").Nanoseconds())
	assert.Equal(t, 3, e.MediaStream("rgb_static").Len())
	require.NotNil(t, e.Stream("goal"), "an array of one frame is a stream of one sample")
	assert.Equal(t, []int64{33333333}, e.Stream("goal").Nanoseconds())
	assert.Equal(t, []dataset.Code{dataset.CodeSampleUnlike, dataset.CodeFrameWithoutArray}, []dataset.Code{e.Notes[0].Code, e.Notes[1].Code})
	text := fmt.Sprint(e.Notes.Damage())
	for _, want := range []string{
		"sample-unlike actions: 1", "got actions float64 [6], want float64 [7]", "sample-unlike rgb_static: 1",
		"frame-without-array rel_actions: 1", "frame-without-array goal: 3", "frame-without-array rgb_tactile: 1",
	} {
		assert.Contains(t, text, want)
	}
	_, err := open(t, dir, dataset.Options{Strict: true}).Episode(context.Background(), 1)
	assert.ErrorIs(t, err, dataset.ErrShape)
}

// Each frame may be unlike all others, and have thousands of arrays: the time that takes is in proportion.
func TestFramesOfManyKinds(t *testing.T) {
	dir := t.TempDir()
	var bounds bytes.Buffer
	require.NoError(t, npy.Write(&bounds, tensor.Must(tensor.Of([]int64{7, 46}, 1, 2))))
	filetest.Write(t, filepath.Join(dir, "ep_start_end_ids.npy"), bounds.Bytes())
	for i := range 40 {
		arrays := []any{"actions", tensor.Must(tensor.Of(make([]float64, i+1), i+1))}
		for k := range 200 {
			arrays = append(arrays, fmt.Sprintf("array %d of %d", k, i), tensor.Must(tensor.Of([]float32{1}, 1)))
		}
		filetest.Write(t, filepath.Join(dir, fmt.Sprintf("episode_%07d.npz", 7+i)), frame(t, arrays...))
	}
	e := episode(t, open(t, dir, dataset.Options{}), 0)
	assert.Len(t, e.Streams, 40*200+1)
	assert.Equal(t, 1, e.Stream("actions").Len(), "no two are alike")
	assert.Contains(t, fmt.Sprint(e.Notes.Damage()), dataset.CodeSampleUnlike.String())
}

func TestImageOfAnotherShapeIsAnError(t *testing.T) {
	d := open(t, "testdata/small/training", dataset.Options{})
	m := episode(t, d, 1).MediaStream("rgb_static")
	_, err := m.Frame(context.Background(), 4)
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	require.NoError(t, d.Close())
	_, err = m.Frame(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	_, err = d.Episode(context.Background(), 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)

	turned := tensor.Must(tensor.Of(make([]uint8, 72), 6, 4, 3)) // as many bytes
	d = open(t, changed(t, frame51, frame(t, "rgb_static", turned)), dataset.Options{})
	m = episode(t, d, 1).MediaStream("rgb_static")
	require.Equal(t, 4, m.Len())
	_, err = m.Frame(context.Background(), 1)
	var bad *dataset.FormatError
	require.ErrorAs(t, err, &bad)
	assert.ErrorIs(t, err, dataset.ErrShape)
	assert.Contains(t, bad.Path, frame51+":rgb_static.npy")
}

func TestWhatIsDeclaredAndNotSoIsTold(t *testing.T) {
	save := func(dir, name string, list []int64, shape ...int) {
		var b bytes.Buffer
		require.NoError(t, npy.Write(&b, tensor.Must(tensor.Of(list, shape...))))
		filetest.Write(t, filepath.Join(dir, name), b.Bytes())
	}
	for _, c := range []struct {
		change func(dir string)
		code   dataset.Code
		says   string
	}{
		{func(dir string) { save(dir, "ep_lens.npy", []int64{6, 3}, 2) }, dataset.CodeEpisodeLength, "ep_lens.npy: 1, got 3, want 4"},
		{func(dir string) { save(dir, "ep_lens.npy", []int64{6}) }, dataset.CodeLengthCount, "ep_lens.npy: 1 of 2, want ep_start_end_ids.npy"},
		{func(dir string) { filetest.Write(t, filepath.Join(dir, "ep_lens.npy"), "") }, dataset.CodeUnreadable, "ep_lens.npy: 1, npy: "},
		{func(dir string) { save(dir, "ep_start_end_ids.npy", []int64{37, 42, 50, 60}, 2, 2) }, dataset.CodeFilesMissing, "ep_start_end_ids.npy: 7 of 17, episode_0000054.npz"},
		{func(dir string) { save(dir, "ep_start_end_ids.npy", []int64{37, 42, 52, 53}, 2, 2) }, dataset.CodeFrameOutside, "ep_start_end_ids.npy: 2"},
		{func(dir string) { save(dir, "ep_start_end_ids.npy", []int64{37, 42, 52, 53}, 2, 2) }, dataset.CodeAnnotationOutside, "lang_annotations/auto_lang_ann.npy: 1"},
		{func(dir string) { save(dir, "ep_start_end_ids.npy", []int64{42, 37, -1, 1 << 62}, 2, 2) }, dataset.CodeFrameRange, "ep_start_end_ids.npy: 2, got 42 to 37"},
		{func(dir string) { filetest.Write(t, filepath.Join(dir, "episode_37.npz"), "") }, dataset.CodeFrameTwice, ": 1"},
		{func(dir string) {
			filetest.Write(t, filepath.Join(dir, "scene_info.npy"), contents(t, "ep_lens.npy"))
		}, dataset.CodeUnreadable, "scene_info.npy: 1, "},
		{func(dir string) {
			filetest.Write(t, filepath.Join(dir, "lang_annotations", "auto_lang_ann.npy"), contents(t, "scene_info.npy"))
		}, dataset.CodeUnreadable, "lang_annotations/auto_lang_ann.npy: 1, want a dictionary"},
	} {
		dir := copied(t, "testdata/small/training")
		c.change(dir)
		d, told := openTold(t, dir)
		assert.Contains(t, told, c.code.String()+" "+filepath.Base(dir)+"/"+c.says)
		assert.GreaterOrEqual(t, d.Len(), 2)
		for i := range d.Len() {
			_, err := d.Episode(context.Background(), i)
			var bad *dataset.FormatError
			assert.True(t, err == nil || errors.As(err, &bad), "%v", err)
		}
		_, err := calvin.Open(context.Background(), dir, dataset.Options{Strict: true})
		assert.ErrorIs(t, err, dataset.ErrCorrupt, c.says)
	}
	dir := copied(t, "testdata/small")
	require.NoError(t, os.Remove(filepath.Join(dir, "validation", "ep_start_end_ids.npy")))
	d, told := openTold(t, dir)
	assert.Contains(t, told, "ep_start_end_ids.npy")
	assert.Equal(t, 2, d.Len())
	filetest.Write(t, filepath.Join(dir, "training", "ep_start_end_ids.npy"), "")
	_, err := calvin.Open(context.Background(), dir, dataset.Options{})
	assert.Error(t, err, "no split is left")
}

// pickled returns the pickle of texts, numbers, lists, and dictionaries, which are lists of keys and values.
func pickled(v any) string {
	four := func(n int) string { return string(binary.LittleEndian.AppendUint32(nil, uint32(n))) }
	all := func(list []any) (s string) {
		for _, v := range list {
			s += pickled(v)
		}
		return s
	}
	switch v := v.(type) {
	case string:
		return "X" + four(len(v)) + v
	case int:
		return "J" + four(v)
	case []any:
		return "](" + all(v) + "e"
	case pairs:
		return "}(" + all(v) + "u"
	}
	panic(fmt.Sprintf("%T", v))
}

type pairs []any

// objectFile returns an .npy file of one object.
func objectFile(t *testing.T, v any) []byte {
	head := contents(t, "lang_annotations/auto_lang_ann.npy")
	head = head[:bytes.IndexByte(head, '\n')+1]
	return append(bytes.Clone(head), "\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R(K\x01)"+
		"cnumpy\ndtype\nX\x02\x00\x00\x00O8\x89\x88\x87R(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb\x89]"+pickled(v)+"atb."...)
}

func TestAnnotationsAndScenesThatAreLeftOutAreCounted(t *testing.T) {
	list := func(v ...any) []any { return v }
	var scenes pairs
	for i := range 1003 {
		scenes = append(scenes, fmt.Sprint("scene ", i), list(37, 42))
	}
	scenes[1] = list(42, 37)
	const language = "lang_annotations/auto_lang_ann.npy"
	for _, c := range []struct {
		file   string
		object any
		code   dataset.Code
		says   string
	}{
		{"scene_info.npy", scenes, dataset.CodeItemsBeyond, ": 3, want 1000, scenes"},
		{"scene_info.npy", scenes, dataset.CodeSceneInvalid, `: 1, "scene 0"`},
		{language, pairs{"language", pairs{"ann", list("a", 5), "task", list("b")}, "info", pairs{"indx", list(list(37, 42), list(37, 42))}},
			dataset.CodeAnnotationInvalid, ": 1, want 4096"},
		{language, pairs{"language", pairs{"ann", list("a"), "task", list("b", "c")}, "info", pairs{"indx", list(list(37, 42), list(37, 42))}},
			dataset.CodeAnnotationCounts, ": 1, 1 text, 2 tasks, 2 places"},
	} {
		dir := changed(t, c.file, objectFile(t, c.object))
		_, told := openTold(t, dir)
		assert.Contains(t, told, c.code.String()+" "+filepath.Base(dir)+"/"+c.file+c.says)
	}
}

// A pickle that would run a program is a problem that says so, and the play is read.
func TestAnnotationsThatRunSomethingAreRefused(t *testing.T) {
	head := contents(t, "lang_annotations/auto_lang_ann.npy")
	head = head[:bytes.IndexByte(head, '\n')+1]
	hostile := append(bytes.Clone(head), "\x80\x02cos\nsystem\nX\x0b\x00\x00\x00touch owned\x85R."...)
	d, told := openTold(t, changed(t, "lang_annotations/auto_lang_ann.npy", hostile))
	assert.Contains(t, told, `auto_lang_ann.npy: byte `)
	assert.Contains(t, told, `"os.system"`)
	assert.Equal(t, 2, d.Len())
	assert.Equal(t, 6, episode(t, d, 0).Frames)
	assert.NoFileExists(t, "owned")
}

func TestAnnotationsTruncatedAtEveryByte(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	const name = "lang_annotations/auto_lang_ann.npy"
	whole := contents(t, name)
	dir := copied(t, "testdata/small/training")
	for n := range whole {
		filetest.Write(t, filepath.Join(dir, name), whole[:n])
		d, err := calvin.Open(context.Background(), dir, dataset.Options{})
		require.NoError(t, err)
		require.Equal(t, 2, d.Len(), "%d bytes", n)
		require.Len(t, d.Info().Notes, 1)
		require.ErrorContains(t, d.Info().Notes[0].Cause, "truncated")
	}
}

func TestFrameTruncatedAtEveryByte(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	whole := contents(t, frame51)
	dir := t.TempDir()
	var bounds bytes.Buffer
	require.NoError(t, npy.Write(&bounds, tensor.Must(tensor.Of([]int64{50, 51}, 1, 2))))
	one := tensor.Must(tensor.Of([]float64{1}, 1))
	for name, data := range map[string][]byte{"ep_start_end_ids.npy": bounds.Bytes(), "episode_0000050.npz": frame(t, "actions", one), frame51: whole} {
		filetest.Write(t, filepath.Join(dir, name), data)
	}
	d := open(t, dir, dataset.Options{})
	require.Equal(t, 2, episode(t, d, 0).Frames)
	for n := range whole {
		filetest.Write(t, filepath.Join(dir, frame51), whole[:n])
		e := episode(t, d, 0)
		require.Equal(t, 1, e.Frames, "%d bytes", n)
		require.Equal(t, 1, e.Notes.Damage()[0].Count)
	}
}

// walk reads all of a dataset.
func walk(t testing.TB, dir string, strict bool) {
	_, wrong := mutate.Read(func(opt dataset.Options) (dataset.Dataset, error) {
		return calvin.Open(context.Background(), dir, opt)
	}, dataset.Options{Strict: strict})
	require.NoError(t, wrong)
}

// Most mutants of frames are arrays in an archive whose checksums are right.
func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	dir := copied(t, "testdata/small/validation")
	const frame = "episode_0000006.npz"
	seeds, err := mutate.Files(dir, "ep_start_end_ids.npy", "ep_lens.npy", "scene_info.npy", "lang_annotations/auto_lang_ann.npy", frame)
	require.NoError(t, err)
	annotations, err := mutate.Files("testdata/annotations", "arrays_2.npy", "lists_5.npy", "objects_4.npy", "scalars_3.npy")
	require.NoError(t, err)
	for _, a := range annotations {
		seeds = append(seeds, mutate.Seed{Name: "lang_annotations/auto_lang_ann.npy", Data: a.Data})
	}
	whole := &seeds[4]
	archive, err := mutate.Unzip(*whole, 128)
	require.NoError(t, err)
	seeds = append(seeds, archive.Seeds()...)
	mutate.Run(t, mutate.Plan{Seeds: seeds, Few: 1000, Most: 64 << 20, Try: func(m mutate.Mutant) {
		if b, ok := archive.With(m); ok {
			m.Data, m.Seed = b, whole
		}
		require.NoError(t, m.In(dir, func() { walk(t, dir, m.N%2 == 0) }))
	}})
}

// A small file that unpacks to many times its size takes no more memory than a frame may.
func TestBombsTakeLittleMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	bomb := func(name, header string, declared uint64) []byte {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.Create(name + ".npy")
		require.NoError(t, err)
		_, err = fmt.Fprintf(w, "\x93NUMPY\x01\x00%c%c%s", len(header)%256, len(header)/256, header)
		require.NoError(t, err)
		zeros := make([]byte, 1<<20)
		for range 16 {
			_, err = w.Write(zeros)
			require.NoError(t, err)
		}
		require.NoError(t, z.Close())
		data := b.Bytes()
		if declared > 0 { // a directory that lies
			at := bytes.LastIndex(data, []byte("PK\x01\x02"))
			copy(data[at+24:], []byte{byte(declared), byte(declared >> 8), 0, 0})
		}
		return data
	}
	const huge = "{'descr': '<f8', 'fortran_order': False, 'shape': (2097152,)}"
	const image = "{'descr': '<f8', 'fortran_order': False, 'shape': (65536,65536)}"
	for name, data := range map[string][]byte{"numbers": bomb("actions", huge, 0), "lying": bomb("actions", huge, 1000), "image": bomb("rgb_static", image, 0)} {
		d := open(t, changed(t, frame51, data), dataset.Options{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		e := episode(t, d, 1)
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20), name)
		assert.NotEmpty(t, e.Notes.Damage(), name)
	}
}

func TestCancelledReadStops(t *testing.T) {
	d := open(t, "testdata/small", dataset.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := d.Episode(ctx, 0)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = d.Episode(context.Background(), 8)
	assert.ErrorIs(t, err, dataset.ErrNotFound)
}

func FuzzFrame(f *testing.F) {
	dir := copied(f, "testdata/small/training")
	f.Add(contents(f, frame51), contents(f, "lang_annotations/auto_lang_ann.npy"), contents(f, "ep_start_end_ids.npy"))
	f.Fuzz(func(t *testing.T, frame, language, bounds []byte) {
		for name, data := range map[string][]byte{frame51: frame, "lang_annotations/auto_lang_ann.npy": language, "ep_start_end_ids.npy": bounds} {
			filetest.Write(t, filepath.Join(dir, name), data)
		}
		walk(t, dir, false)
		walk(t, dir, true)
	})
}

func TestImagesWithBrokenHeadersAreLeftOut(t *testing.T) {
	dir := t.TempDir()
	var bounds bytes.Buffer
	require.NoError(t, npy.Write(&bounds, tensor.Must(tensor.Of([]int64{7, 8}, 1, 2))))
	filetest.Write(t, filepath.Join(dir, "ep_start_end_ids.npy"), bounds.Bytes())
	for i := range 2 {
		data := frame(t, "actions", tensor.Must(tensor.Of(make([]float64, 7), 7)), "rgb_static", tensor.Must(tensor.Of(make([]uint8, 48), 4, 4, 3)))
		at := bytes.Index(data, []byte("rgb_static.npy"))
		data[at+bytes.Index(data[at:], []byte("NUMPY"))] ^= 0xff
		filetest.Write(t, filepath.Join(dir, fmt.Sprintf("episode_%07d.npz", 7+i)), data)
	}
	e := episode(t, open(t, dir, dataset.Options{}), 0)
	assert.Equal(t, []string{"actions"}, e.Names())
	n := e.Notes.Find(dataset.CodeImageBroken)
	require.NotNil(t, n, e.Notes)
	assert.Equal(t, "rgb_static", n.Subject)
}

func TestAnnotationsOfFramesThatAreGoneAreNoted(t *testing.T) {
	dir := copied(t, "testdata/small/training")
	for _, name := range []string{"episode_0000052.npz", "episode_0000053.npz"} {
		require.NoError(t, os.Remove(filepath.Join(dir, name)))
	}
	n := episode(t, open(t, dir, dataset.Options{}), 1).Notes.Find(dataset.CodeAnnotationsWithoutFrames)
	require.NotNil(t, n)
	assert.Equal(t, []any{"language/ann", 1}, []any{n.Subject, n.Count})
}
