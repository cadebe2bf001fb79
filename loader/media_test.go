package loader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// film are frames in memory. One that is nil is broken.
type film [][]byte

var errFilm = errors.New("torn")

func (f film) ReadFrame(_ context.Context, i int) ([]byte, error) {
	if f[i] == nil {
		return nil, errFilm
	}
	return bytes.Clone(f[i]), nil
}

// video decodes its frames itself.
type opaque struct{ film }

func (opaque) DecodeFrames(context.Context, int, int) iter.Seq2[*tensor.Tensor, error] { return nil }

// camera makes n frames of random bytes, of random lengths.
func camera(name, encoding string, n, size int) dataset.Media {
	r := rand.New(rand.NewPCG(uint64(n), uint64(size)))
	m := dataset.Media{Name: name, Encoding: encoding, Width: 4, Height: 3}
	var f film
	for i := range n {
		b := make([]byte, 1+r.IntN(size))
		for k := range b {
			b[k] = byte(r.Uint32())
		}
		f, m.Times = append(f, b), append(m.Times, int64(i)*1e8+7)
	}
	m.Source = f
	return m
}

// filmed are recordings with cameras: an eye, except in the first episode, with one broken frame; a wrist with other formats; a video;
// a namesake of a stream.
func filmed(t *testing.T) made {
	m := recordings(t)
	for i, e := range m {
		if i > 0 {
			e.Media = append(e.Media, camera("eye", "jpeg", 5+i, 100))
		}
		wrist := camera("wrist", "rgb8", 3, 50)
		if i == 2 {
			wrist.Width = 5
		}
		if i == 3 {
			wrist.Encoding = "mono8"
		}
		tape := camera("tape", "jpeg", 4, 10)
		tape.Source = opaque{tape.Source.(film)}
		e.Media = append(e.Media, wrist, tape, camera("cut", "h264", 2, 10), camera("imu", "png", 2, 10), camera("odd", "", 2, 10))
	}
	m[4].Media[0].Source.(film)[2] = nil
	m[5].Media[0].Width = 9
	m[6].Steps = true
	return m
}

func TestFramesArePackedAsTheyWereEncoded(t *testing.T) {
	ctx := context.Background()
	m := filmed(t)
	built, opened, path := saved(t, m, store.BuildOptions{Media: []string{store.AllMedia}})
	packed := filepath.Join(t.TempDir(), "p")
	require.NoError(t, store.Pack(ctx, m, packed, store.BuildOptions{Media: []string{"eye", "wrist", "tape", "cut", "imu", "odd"}}))
	assert.True(t, bytes.Equal(content(t, path), content(t, packed)))
	for _, s := range []*store.Store{built, opened} {
		require.Len(t, s.Media, 2)
		assert.Equal(t, []int64{0, 0, 6, 13, 21, 29, 39, 39}, s.MediaStream("eye").Offsets, "one frame is broken, and the last episode counts steps")
		assert.Nil(t, s.MediaStream("tape"))
		for i, e := range m {
			got, err := s.Episode(ctx, i)
			require.NoError(t, err)
			for _, want := range e.Media {
				has := got.MediaStream(want.Name)
				if i == 6 || want.Name == "wrist" && (i == 2 || i == 3) || want.Name != "eye" && want.Name != "wrist" {
					assert.Nil(t, has, "%d %s", i, want.Name)
					continue
				}
				require.NotNil(t, has)
				size := [2]int{want.Width, want.Height}
				if want.Name == "eye" {
					size = [2]int{} // of several sizes, which each JPEG declares
				}
				assert.Equal(t, size, [2]int{has.Width, has.Height})
				assert.Equal(t, want.Encoding, has.Encoding)
				n := 0
				for k, frame := range want.Source.(film) {
					if frame == nil {
						continue
					}
					assert.Equal(t, want.Times[k], has.Times[n])
					b, err := has.Frame(ctx, n)
					require.NoError(t, err)
					assert.Equal(t, frame, b)
					n++
				}
				assert.Equal(t, n, has.Len())
			}
		}
		reasons := map[string]string{}
		for i := range s.Len() {
			e, err := s.Episode(ctx, i)
			require.NoError(t, err)
			for _, l := range e.Notes {
				reasons[fmt.Sprint(i, l.Subject)] = l.Reason()
			}
		}
		for at, want := range map[string]string{
			"0eye": dataset.CodeNoSamples.String(), "4eye": dataset.CodeFramesUnread.String() + ": 1 of 9, torn", "6eye": dataset.CodeStepTimes.String(), "2wrist": dataset.CodeFrameSize.String() + ": 3, got rgb8 frames with 5x3, want rgb8 of 4x3",
			"3wrist": "got mono8 frames", "1tape": dataset.CodeVideoNotPacked.String() + ": 4, got jpeg", "1cut": "got h264", "1imu": dataset.CodeNameTaken.String(), "1odd": dataset.CodeEncodingUnknown.String(),
		} {
			assert.Contains(t, reasons[at], want, at)
		}
	}
	e, err := opened.Episode(ctx, 1)
	require.NoError(t, err)
	require.NoError(t, opened.Close())
	eye := e.MediaStream("eye")
	_, err = eye.Frame(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	assert.Len(t, eye.Times, 6, "timestamps stay")
}

// As the comment of Media has it for other programs.
func TestAnyProgramFindsAFrameBySlices(t *testing.T) {
	m := filmed(t)
	_, _, path := saved(t, m, store.BuildOptions{Media: []string{"eye"}})
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	ints := func(name string) []int64 {
		v, err := f.Tensor(name)
		require.NoError(t, err)
		list, err := tensor.Data[int64](v)
		require.NoError(t, err)
		return list
	}
	v, err := f.Tensor("eye.frames")
	require.NoError(t, err)
	frames, err := tensor.Data[uint8](v)
	require.NoError(t, err)
	for i, want := range m[3].Media[0].Source.(film) {
		k := ints("eye.offsets")[3] + int64(i)
		between := ints("eye.frame_offsets")[k : k+2]
		assert.Equal(t, want, frames[between[0]:between[1]])
		assert.Equal(t, m[3].Media[0].Times[i], ints("eye.times")[k])
	}
}

func TestFramesMayBeMoreThanIsHeld(t *testing.T) {
	ctx := context.Background()
	one := &dataset.Episode{Name: "e", Media: []dataset.Media{camera("eye", "jpeg", 50, 100_000), camera("arm", "png", 50, 40_000)}}
	d := repeated{made{one}, 16}
	path := filepath.Join(t.TempDir(), "s")
	require.NoError(t, store.Pack(ctx, d, path, store.BuildOptions{Media: []string{"all"}}))
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, st.Size(), int64(40e6), "more than is held in memory")
	s, err := store.Open(path)
	require.NoError(t, err)
	defer s.Close()
	e, err := s.Episode(ctx, 15)
	require.NoError(t, err)
	for i := range one.Media {
		for n, want := range one.Media[i].Source.(film) {
			got, err := e.Media[i].Frame(ctx, n)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, got), "frame %d of %s", n, one.Media[i].Name)
		}
	}
	require.NoError(t, os.Truncate(path, 1<<20))
	_, err = e.Media[0].Frame(ctx, 0)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
}

func TestMediaThatNobodyHasOrReadsAreErrors(t *testing.T) {
	ctx := context.Background()
	_, err := store.Build(ctx, filmed(t), store.BuildOptions{Media: []string{"nose"}})
	var option *loader.OptionError
	require.ErrorAs(t, err, &option)
	assert.Equal(t, "Media", option.Arg)
	assert.Equal(t, "media streams in the dataset: [tape, odd, eye and 3 more]", option.Want)
	_, err = store.Build(ctx, filmed(t), store.BuildOptions{Media: []string{"eye"}, Strict: true})
	assert.ErrorIs(t, err, errFilm)
	s := inMemory(t, filmed(t))
	assert.Empty(t, s.Media, "nobody asked for them")
	s, err = store.Build(ctx, filmed(t), store.BuildOptions{Media: []string{"tape"}})
	require.NoError(t, err, "it is there, and listed")
	assert.Empty(t, s.Media)
}

// The cameras of BridgeData V2 come out of a store to the byte, and it opens as a dataset.
func TestRecordedFramesComeOutOfAStore(t *testing.T) {
	const path = "../../shared/data/"
	ctx := context.Background()
	for folder, want := range map[string]int{"bridge_rlds": 1000, "lerobot_studio/lerobotv2-image": 6, "robomimic_bridge/image_gzip_latest.hdf5": 60} {
		if _, err := os.Stat(path + folder); err != nil {
			t.Skip("the shared recordings are not here: ", folder)
		}
		d, err := dataset.Open(ctx, path+folder, dataset.Options{Rate: 5})
		require.NoError(t, err)
		to := filepath.Join(t.TempDir(), "s.safetensors")
		require.NoError(t, store.Pack(ctx, d, to, store.BuildOptions{Media: []string{"all"}}), folder)
		s, err := dataset.Open(ctx, to, dataset.Options{})
		require.NoError(t, err)
		assert.Equal(t, d.Format(), s.Format())
		frames := 0
		for i := range d.Len() {
			want, err := d.Episode(ctx, i)
			require.NoError(t, err)
			got, err := s.Episode(ctx, i)
			require.NoError(t, err)
			require.Len(t, got.Media, len(want.Media))
			for k := range want.Media {
				a, b := &want.Media[k], got.MediaStream(want.Media[k].Name)
				require.Equal(t, a.Times, b.Times)
				for n := range a.Len() {
					x, err := a.Frame(ctx, n)
					require.NoError(t, err)
					y, err := b.Frame(ctx, n)
					require.NoError(t, err)
					require.True(t, bytes.Equal(x, y), "%s: episode %d, %s, frame %d", folder, i, a.Name, n)
					frames++
				}
				x, err := a.Decode(ctx, 0)
				require.NoError(t, err)
				y, err := b.Decode(ctx, 0)
				require.NoError(t, err)
				require.Equal(t, x, y)
			}
		}
		assert.Equal(t, want, frames, folder)
		require.NoError(t, errors.Join(s.Close(), d.Close()))
	}
}

func TestAStoreIsOpenedWithItsOwnClock(t *testing.T) {
	ctx := context.Background()
	_, _, path := saved(t, told{recordings(t), dataset.Info{Clock: "timestamp", Clocks: []string{"frame_index", "timestamp"}}}, store.BuildOptions{})
	for clock, ok := range map[string]bool{"": true, "timestamp": true, "frame_index": false, "other": false} {
		d, err := dataset.Open(ctx, path, dataset.Options{Clock: clock})
		if !ok {
			assert.ErrorIs(t, err, dataset.ErrOption, clock)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, 7, d.Len())
		require.NoError(t, d.Close())
	}
}

// If dataset.Open opens a store, its episodes stay when it is closed, as those of any dataset.
func TestEpisodesOfAStoreAsADatasetStay(t *testing.T) {
	ctx := context.Background()
	m := recordings(t)
	_, _, path := saved(t, m, store.BuildOptions{})
	d, err := dataset.Open(ctx, path, dataset.Options{})
	require.NoError(t, err)
	e, err := d.Episode(ctx, 3)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(path, 100))
	_, err = d.Episode(ctx, 3)
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	require.NoError(t, d.Close())
	_, err = d.Episode(ctx, 3)
	assert.ErrorIs(t, err, dataset.ErrClosed)
	for i := range m[3].Streams {
		want, got := &m[3].Streams[i], &e.Streams[i]
		assert.Equal(t, want.Nanoseconds(), got.Nanoseconds())
		a, err := tensor.Floats(want.Values)
		require.NoError(t, err)
		b, err := tensor.Floats(got.Values)
		require.NoError(t, err)
		assert.Equal(t, a, b)
	}
}

// A packed store packs to itself again.
func TestAPackedStoreIsTheStore(t *testing.T) {
	ctx := context.Background()
	_, opened, path := saved(t, filmed(t), store.BuildOptions{Media: []string{"all"}})
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, store.Pack(ctx, opened, again, store.BuildOptions{Media: []string{"all"}}))
	s, err := store.Open(again)
	require.NoError(t, err)
	defer s.Close()
	assert.Equal(t, opened.MediaStream("eye").Offsets, s.MediaStream("eye").Offsets)
	assert.Equal(t, opened.Stream("imu").Offsets, s.Stream("imu").Offsets)
	require.NoError(t, os.Truncate(path, 4096))
	assert.ErrorIs(t, store.Pack(ctx, opened, again, store.BuildOptions{Strict: true}), dataset.ErrTruncated)
}
