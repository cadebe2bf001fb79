package loader_test

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// deep are frames of 16 bits a channel.
type deep struct{}

func (deep) ReadFrame(context.Context, int) ([]byte, error) {
	var b bytes.Buffer
	err := png.Encode(&b, image.NewGray16(image.Rect(0, 0, 8, 6)))
	return b.Bytes(), err
}

// depth are raw frames of 16 bits.
type depth struct{}

func (depth) ReadFrame(context.Context, int) ([]byte, error) { return make([]byte, 2*8*6), nil }

// If no frame of a camera can be decoded, opening the loader fails, streaming or not. If only the first frame is damaged, it opens.
func TestACameraThatNothingDecodesIsRefused(t *testing.T) {
	ctx := context.Background()
	for got, change := range map[string]func(m *dataset.Media){
		`encoding "png-f32"`: func(m *dataset.Media) { m.Encoding = "png-f32" },
		"16 bits a channel":  func(m *dataset.Media) { m.Source = deep{} },
		"f32 [6,8,1], which is no colours": func(m *dataset.Media) {
			m.Source, m.Encoding, m.Width, m.Height = depth{}, "16UC1", 8, 6
		},
	} {
		d := filmedRecordings(t, -1)
		for _, e := range d {
			change(e.MediaStream("front"))
		}
		store, err := store.Build(ctx, d, store.BuildOptions{Media: []string{"front"}})
		require.NoError(t, err)
		p := shards()
		for _, open := range []func() (*loader.Loader, error){
			func() (*loader.Loader, error) {
				return loader.NewStreaming(ctx, open(t, "cpu"), d, p, loader.Options{Batch: 2, Cameras: twoCameras[:1]})
			},
			func() (*loader.Loader, error) {
				return loader.New(ctx, open(t, "cpu"), store, p, loader.Options{Batch: 2, Cameras: twoCameras[:1]})
			},
		} {
			_, err := open()
			var camera *loader.CameraError
			require.ErrorAs(t, err, &camera)
			assert.Equal(t, "front", camera.Camera)
			assert.ErrorIs(t, err, dataset.ErrUnsupported)
			assert.ErrorContains(t, err, "camera front")
			assert.ErrorContains(t, err, "got "+got)
			assert.ErrorContains(t, err, "want ")
		}
	}
	l, err := loader.NewStreaming(ctx, open(t, "cpu"), filmedRecordings(t, 0), shards(), loader.Options{Batch: 2, Cameras: twoCameras[:1]})
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// If every episode leaves out a camera, the error has the reason. For an unknown camera it lists the others.
func TestACameraWithoutFramesIsToldWhy(t *testing.T) {
	ctx := context.Background()
	d := filmedRecordings(t, -1)
	missing := dataset.Note{Code: dataset.CodeMediaFileMissing, Subject: "rear", Detail: dataset.Detail{Names: []string{"rear.mp4"}}}
	for _, e := range d {
		e.Notes = append(e.Notes, missing)
	}
	rear := []loader.Camera{{Name: "rear", Height: 2, Width: 2}}
	_, err := loader.NewStreaming(ctx, open(t, "cpu"), d, shards(), loader.Options{Batch: 2, Cameras: rear})
	want := &store.MediaError{Media: "rear", Episode: "e0", Note: missing}
	var got *store.MediaError
	require.ErrorAs(t, err, &got)
	assert.Equal(t, want, got)
	assert.ErrorIs(t, err, dataset.ErrMissing)
	_, err = store.Build(ctx, d, store.BuildOptions{Media: []string{"rear"}})
	assert.Equal(t, want, err)

	_, err = loader.NewStreaming(ctx, open(t, "cpu"), filmedRecordings(t, -1), shards(), loader.Options{Batch: 2, Cameras: rear})
	var option *loader.OptionError
	require.ErrorAs(t, err, &option)
	assert.Equal(t, "media streams in the dataset: [front, wrist]", option.Want)
	_, err = loader.NewStreaming(ctx, open(t, "cpu"), recordings(t), shards(), loader.Options{Batch: 2, Cameras: rear})
	require.ErrorAs(t, err, &option)
	assert.Equal(t, "a dataset with media streams", option.Want)
}

// Frames of batches that memory cannot hold are refused before any episode is read, however large they are.
func TestFramesThatAreTooLargeAreRefused(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, backend := range []string{"cpu", "sim"} {
		for _, size := range []int{99999, 1 << 40, 1 << 62} {
			cameras := []loader.Camera{twoCameras[0], {Name: "wrist", Height: size, Width: size}}
			_, err := loader.NewStreaming(context.Background(), open(t, backend), filmedRecordings(t, -1), cameraPlan(), loader.Options{Batch: 32, Cameras: cameras})
			var frames *loader.FramesError
			require.ErrorAs(t, err, &frames)
			assert.Equal(t, "wrist", frames.Camera)
			assert.Equal(t, []int{32, 6, size, size, 3}, frames.Shape)
			assert.ErrorIs(t, err, ops.ErrOutOfMemory)
		}
	}
}
