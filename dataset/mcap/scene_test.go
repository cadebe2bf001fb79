package mcap

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

// scene is an episode with poses of each kind, a stream that is no pose, and texts.
func scene(t *testing.T) *dataset.Episode {
	e := &dataset.Episode{}
	times := []int64{1_500_000_000, 2_000_000_001}
	columns := func(names ...string) (list []dataset.Column) {
		for _, name := range names {
			list = append(list, dataset.Column{Name: name})
		}
		return list
	}
	add := func(name string, values *tensor.Tensor, columns []dataset.Column) {
		s, err := dataset.NewStream(name, times, values, columns)
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
	}
	add("/hand", tensor.Must(tensor.Of([]float32{0.1, -2, 1e-45, 0, 0, 0.6, 0.8, 1, float32(math.Copysign(0, -1)), 3, 0, 0, 0, 1}, 2, 7)),
		columns("tx", "ty", "tz", "qx", "qy", "qz", "qw"))
	wide := columns("translation.x", "translation.y", "translation.z", "rotation.x", "rotation.y", "rotation.z", "rotation.w")
	for i := range wide[3:] {
		wide[3+i].Rotation = dataset.RotationXYZW
	}
	add("/tf.camera", tensor.Must(tensor.Of([]float64{0.1, math.Pi, 1e-320, 0, 0, 0, 1, 4, 5, 6, 1, 0, 0, 0}, 2, 7)), wide)
	bad := tensor.Must(tensor.Of([]float64{math.NaN(), 0, 0, 0, 0, 0, 1, 4, 5, 6, 1, 0, 0, 0}, 2, 7))
	add("broken", bad, wide)
	add("scalar first", tensor.Must(tensor.Of(make([]float64, 14), 2, 7)), columns("x", "y", "z", "qw", "qx", "qy", "qz"))
	e.Notes.Add(dataset.Note{Code: dataset.CodeFrameParents, Subject: "/tf", Detail: dataset.Detail{Names: []string{"camera in base", "base in map"}}})
	e.Texts = []dataset.TextStream{
		{Name: "task", Task: true, Times: []int64{1_500_000_000, 1_700_000_000}, Values: []string{"pour \"it\"\n", "wait"}},
		{Name: "told", Later: true, Times: []int64{1_600_000_000}, Values: []string{"Größe"}},
	}
	return e
}

func TestPosesAreTransformsAndTextsAreLogs(t *testing.T) {
	ctx := context.Background()
	for _, encoding := range []Encoding{Protobuf, JSON} {
		want := scene(t)
		path := filepath.Join(t.TempDir(), "scene.mcap")
		require.NoError(t, WriteFile(path, WriterOptions{}, func(w *Writer) error { return w.Episode(ctx, want, encoding) }))
		log, _, _ := readLog(t, filetest.Read(t, path))
		schemas := map[string]string{}
		for _, c := range log.Channels() {
			schemas[c.Topic] = c.Schema.Name
		}
		assert.Equal(t, map[string]string{"/hand": "foxglove.FrameTransform", "/tf.camera": "foxglove.FrameTransform", "broken": "robocache.broken",
			"scalar first": "robocache.scalar_first", "task": "foxglove.Log", "told": "foxglove.Log"}, schemas)
		d, err := dataset.Open(ctx, path, dataset.Options{Strict: true})
		require.NoError(t, err)
		defer d.Close()
		got := settest.Episode(t, d, 0)
		require.Equal(t, want.Names(), got.Names(), encoding)
		for i := range want.Streams {
			a, b := &want.Streams[i], &got.Streams[i]
			assert.Equal(t, a.Nanoseconds(), b.Nanoseconds(), a.Name)
			assert.Equal(t, a.Columns, b.Columns, a.Name)
			if a.Name == "broken" {
				continue
			}
			require.Equal(t, a.Values.DType(), b.Values.DType(), a.Name)
			assert.Equal(t, bits(t, a), bits(t, b), "%s %v", a.Name, encoding)
		}
		assert.Equal(t, want.Texts, got.Texts, encoding)
		frames := map[string]string{}
		for _, n := range got.Notes {
			if n.Code == dataset.CodeFrameParents {
				frames[n.Subject] = fmt.Sprint(n.Names)
			}
		}
		assert.Equal(t, map[string]string{"/tf.camera": "[camera in base]"}, frames)
	}
}

func TestATextBefore1970IsRefusedByName(t *testing.T) {
	e := scene(t)
	e.Texts[1].Times[0] = -1
	err := WriteFile(filepath.Join(t.TempDir(), "a.mcap"), WriterOptions{}, func(w *Writer) error { return w.Episode(context.Background(), e, JSON) })
	var refused *Error
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, "text told", refused.What)
}

// A float32 image of RLDS is written with its numbers.
func TestFloatsInPNGAreRawFloats(t *testing.T) {
	want := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, math.Float32bits(0.75)), math.Float32bits(float32(math.Inf(1))))
	img := &image.NRGBA{Pix: want, Stride: 8, Rect: image.Rect(0, 0, 2, 1)}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	media := func(data []byte) *dataset.Episode {
		return &dataset.Episode{Media: []dataset.Media{{Name: "/depth", Times: []int64{5}, Encoding: "png-f32", Width: 2, Height: 1, Source: frames{data}}}}
	}
	path := filepath.Join(t.TempDir(), "a.mcap")
	require.NoError(t, WriteFile(path, WriterOptions{}, func(w *Writer) error { return w.Episode(t.Context(), media(b.Bytes()), Protobuf) }))
	d, err := dataset.Open(t.Context(), path, dataset.Options{Strict: true})
	require.NoError(t, err)
	defer d.Close()
	m := &settest.Episode(t, d, 0).Media[0]
	assert.Equal(t, []any{"32FC1", 2, 1}, []any{m.Encoding, m.Width, m.Height})
	got, err := m.Frame(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	var grey bytes.Buffer
	require.NoError(t, png.Encode(&grey, image.NewGray(img.Rect)))
	for _, bad := range [][]byte{{1}, grey.Bytes()} {
		err := WriteFile(path, WriterOptions{}, func(w *Writer) error { return w.Episode(t.Context(), media(bad), JSON) })
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
	}
}
