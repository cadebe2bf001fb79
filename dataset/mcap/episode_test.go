package mcap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

// frames are those of a camera.
type frames [][]byte

func (f frames) ReadFrame(_ context.Context, i int) ([]byte, error) { return bytes.Clone(f[i]), nil }

// scans are those of a lidar.
type scans []*dataset.Cloud

func (s scans) ReadCloud(_ context.Context, i int) (*dataset.Cloud, error) { return s[i], nil }

// recorded is an episode with all kinds of streams, in the order in which they are read.
func recorded(t testing.TB) *dataset.Episode {
	success := true
	e := &dataset.Episode{Name: "recorded", Attributes: dataset.Attributes{Task: "pour", Success: &success, Other: map[string]string{"robot": "g1", "empty": ""}}}
	add := func(name string, times []int64, values *tensor.Tensor, columns []dataset.Column) {
		s, err := dataset.NewStream(name, times, values, columns)
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
	}
	times := []int64{0, 1_000_000_001, 1_000_000_001, 5_000_000_000}
	nan := math.Float64frombits(0x7ff8_0000_0000_0abc)
	add("/joints", times, tensor.Must(tensor.Of([]float32{1, -0.1, 1e-45, math.MaxFloat32, 0, float32(math.Copysign(0, -1)), float32(math.Inf(1)), float32(math.NaN())}, 4, 2)),
		[]dataset.Column{{Name: "shoulder pan", Type: "float32"}, {Name: "joint[1].effort", Type: "uint8", Integer: true}})
	add("pose", []int64{7}, tensor.Must(tensor.Of([]float64{0.1, math.Pi, -1.0 / 3, nan, 1e-320, math.Inf(-1)}, 1, 6)), []dataset.Column{
		{Name: "q.w", Type: "double", Rotation: dataset.RotationWXYZ}, {Name: "q.x", Type: "double", Rotation: dataset.RotationWXYZ},
		{Name: "q_x", Type: "double", Rotation: dataset.RotationWXYZ}, {Name: "1", Type: "double", Rotation: dataset.RotationWXYZ}, {Name: "Größe"}, {Name: "_"}})
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 4, 3))))
	e.Media = []dataset.Media{
		{Name: "/camera", Times: []int64{3, 9}, Encoding: "png", Source: frames{b.Bytes(), b.Bytes()}},
		{Name: "/raw", Times: []int64{1, 2}, Encoding: "rgb8", Width: 2, Height: 1, Source: frames{{1, 2, 3, 4, 5, 6}, {6, 5, 4, 3, 2, 1}}},
		{Name: "/video", Times: []int64{4}, Encoding: "h264", Source: frames{{0, 0, 0, 1, 0x67, 1, 2}}},
	}
	cloud, err := dataset.NewCloud([]float32{1, 2, 3, 4, 5, float32(math.NaN())}, []float32{0.5, 0.25}, []dataset.Column{{Name: "intensity"}})
	require.NoError(t, err)
	cloud.Viewpoint = dataset.Viewpoint{Position: [3]float64{1, 2, 3}, Orientation: [4]float64{0.5, 0.5, -0.5, 0.5}}
	e.Clouds = []dataset.CloudStream{{Name: "/lidar", Times: []int64{8}, Source: scans{cloud}}}
	return e
}

// bits are a stream's values, to the bit.
func bits(t testing.TB, s *dataset.Stream) (list []uint64) {
	if s.Values.DType() == tensor.F32 {
		data, err := tensor.Data[float32](s.Values)
		require.NoError(t, err)
		for _, v := range data {
			list = append(list, uint64(math.Float32bits(v)))
		}
		return list
	}
	data, err := tensor.Data[float64](s.Values)
	require.NoError(t, err)
	for _, v := range data {
		list = append(list, math.Float64bits(v))
	}
	return list
}

func TestAnEpisodeIsReadBackAsItWas(t *testing.T) {
	ctx := context.Background()
	for _, encoding := range []Encoding{Protobuf, JSON} {
		for name, opt := range variants {
			t.Run(fmt.Sprint(encoding, " ", name), func(t *testing.T) {
				want := recorded(t)
				path := filepath.Join(t.TempDir(), "recorded.mcap")
				require.NoError(t, WriteFile(path, opt, func(w *Writer) error { return w.Episode(ctx, want, encoding) }))
				d, err := dataset.Open(ctx, path, dataset.Options{Strict: true})
				require.NoError(t, err)
				defer d.Close()
				got := settest.Episode(t, d, 0)
				assert.Equal(t, want.Names(), got.Names())
				for i := range want.Streams {
					a, b := &want.Streams[i], &got.Streams[i]
					assert.Equal(t, a.Nanoseconds(), b.Nanoseconds(), a.Name)
					assert.Equal(t, a.Columns, b.Columns, a.Name)
					require.Equal(t, a.Values.DType(), b.Values.DType(), a.Name)
					if encoding == JSON && a.Name == "pose" { // of NaN JSON says only that it is one
						assert.Equal(t, fmt.Sprint(a.Values), fmt.Sprint(b.Values))
						continue
					}
					assert.Equal(t, bits(t, a), bits(t, b), a.Name)
				}
				require.Len(t, got.Media, 3)
				for i := range want.Media {
					a, b := &want.Media[i], &got.Media[i]
					assert.Equal(t, []any{a.Name, a.Times, a.Encoding, a.Width, a.Height}, []any{b.Name, b.Times, b.Encoding, b.Width, b.Height})
					for k := range a.Times {
						x, err := a.Frame(ctx, k)
						require.NoError(t, err)
						y, err := b.Frame(ctx, k)
						require.NoError(t, err)
						assert.Equal(t, x, y)
					}
				}
				require.Len(t, got.Clouds, 1)
				assert.Equal(t, "/lidar", got.Clouds[0].Name)
				a, err := want.Clouds[0].Cloud(ctx, 0)
				require.NoError(t, err)
				b, err := got.Clouds[0].Cloud(ctx, 0)
				require.NoError(t, err)
				assert.Equal(t, a.Names(), b.Names())
				assert.Equal(t, a.Viewpoint, b.Viewpoint)
				x, err := tensor.Floats(a.Points)
				require.NoError(t, err)
				y, err := tensor.Floats(b.Points)
				require.NoError(t, err)
				assert.Equal(t, fmt.Sprint(x), fmt.Sprint(y))
				assert.Equal(t, "pour", got.Attributes.Task)
				require.NotNil(t, got.Attributes.Success)
				assert.True(t, *got.Attributes.Success)
				assert.Equal(t, "g1", got.Attributes.Other["robot"])
				assert.Empty(t, got.Notes)
			})
		}
	}
}

func TestWhatCannotBeWrittenIsSaidBeforeTheFirstMessage(t *testing.T) {
	values := tensor.Must(tensor.Of([]float32{1}, 1, 1))
	stream := func(name string, at int64, columns []dataset.Column) dataset.Stream {
		s, err := dataset.NewStream(name, []int64{at}, values, columns)
		require.NoError(t, err)
		return s
	}
	wide := tensor.Must(tensor.Of(make([]float32, maxColumns+1), 1, maxColumns+1))
	tooWide, err := dataset.NewStream("wide", []int64{0}, wide, nil)
	require.NoError(t, err)
	for want, e := range map[string]*dataset.Episode{
		"mcap: stream a: got a timestamp of -1 ns, want 0 or more":       {Streams: []dataset.Stream{stream("a", -1, nil)}},
		"mcap: stream a: got the name twice, want each once":             {Streams: []dataset.Stream{stream("a", 0, nil), stream("a", 0, nil)}},
		"mcap: stream wide: got 4097 columns, want at most 4096":         {Streams: []dataset.Stream{tooWide}},
		"mcap: media c: got 0x0 pixels, want the size of its frames":     {Media: []dataset.Media{{Name: "c", Encoding: "rgb8"}}},
		`mcap: media c: got encoding "gif", want jpeg, png, webp, avif,`: {Media: []dataset.Media{{Name: "c", Encoding: "gif"}}},
	} {
		var out bytes.Buffer
		w, err := NewWriter(&out, WriterOptions{})
		require.NoError(t, err)
		err = w.Episode(context.Background(), e, Protobuf)
		require.ErrorContains(t, err, want)
		assert.Zero(t, w.stats.MessageCount)
	}
}

func TestRawImagesOfEverySizeThatIsKnownAreWritten(t *testing.T) {
	for _, encoding := range []string{"16SC1", "rgb16", "bayer_gbrg16", "mono8", "UYVY", "64FC2"} {
		size, _ := message.Pixel(encoding)
		require.Positive(t, size, encoding)
		data := make([]byte, 2*size)
		for i := range data {
			data[i] = byte(i + 1)
		}
		e := &dataset.Episode{Media: []dataset.Media{{Name: "/camera", Times: []int64{5}, Encoding: encoding, Width: 2, Height: 1, Source: frames{data}}}}
		path := filepath.Join(t.TempDir(), "raw.mcap")
		require.NoError(t, WriteFile(path, WriterOptions{}, func(w *Writer) error { return w.Episode(t.Context(), e, Protobuf) }))
		d, err := Open(t.Context(), path, dataset.Options{})
		require.NoError(t, err)
		got, err := d.Episode(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, got.Media, 1)
		back, err := got.Media[0].Frame(t.Context(), 0)
		require.NoError(t, err)
		assert.Equal(t, data, back, encoding)
		assert.Equal(t, [3]any{encoding, 2, 1}, [3]any{got.Media[0].Encoding, got.Media[0].Width, got.Media[0].Height})
		require.NoError(t, d.Close())
	}
}

func TestJSONMessagesAreJSON(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{Compression: NoCompression})
	require.NoError(t, err)
	require.NoError(t, w.Episode(context.Background(), recorded(t), JSON))
	require.NoError(t, w.Close())
	list, err := readRecords(out.Bytes())
	require.NoError(t, err)
	messages, schemas := 0, 0
	for _, record := range list {
		switch x := record.(type) {
		case *Message:
			messages++
			assert.True(t, json.Valid(x.Data), string(x.Data))
		case *Schema:
			schemas++
			assert.True(t, json.Valid(x.Data), string(x.Data))
		}
	}
	assert.Equal(t, 4+1+2+2+1+1, messages)
	assert.Equal(t, 12, schemas, "six, in the chunk and in the summary")
}

// A name is an identifier of protobuf, whatever it was.
func TestIdentifiers(t *testing.T) {
	for name, want := range map[string]string{"/joint_states": "joint_states", "pose.position.x": "pose_position_x", "a[0]": "a_0", "": "c", "3d": "c_3d", "__": "c", "Größe": "Gr_e", "a b": "a_b"} {
		assert.Equal(t, want, identifier(name))
	}
}

func TestOpenRefusesAnUnknownClock(t *testing.T) {
	_, err := Open(t.Context(), "there is none.mcap", dataset.Options{Clock: "wall"})
	var e *dataset.OptionError
	require.ErrorAs(t, err, &e, "before the file is looked for")
	assert.Equal(t, dataset.OptionError{Arg: "Clock", Got: "wall", Want: "log or publish or header"}, *e)
}

func TestMetadataThatIsTooLongIsNoted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.mcap")
	require.NoError(t, WriteFile(path, WriterOptions{}, func(w *Writer) error {
		return errors.Join(w.Metadata(&Metadata{Name: "long", Metadata: map[string]string{"x": strings.Repeat("y", 2<<20)}}), w.Episode(context.Background(), recorded(t), Protobuf))
	}))
	d := settest.Open(t, path)
	e := settest.Episode(t, d, 0)
	n := e.Notes.Find(dataset.CodeTooLong)
	require.NotNil(t, n)
	assert.Greater(t, n.Bytes, int64(2<<20))
}
