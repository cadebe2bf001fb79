package mp4

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/video"
)

func open(data []byte) (*Track, error) {
	f, err := NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	return f.Video()
}

// exercise reads all that a file has, and returns the track if there is one, and what is wrong with how it was read.
func exercise(data []byte) (v *Track, wrong error) {
	v, err := open(data)
	if err != nil {
		var bad *dataset.FormatError
		if !errors.As(err, &bad) || bad.Kind == nil || bad.Offset < -1 || bad.Offset > int64(len(data)) {
			return nil, fmt.Errorf("an error without a kind and a place: %w", err)
		}
		return nil, nil
	}
	times := v.Times()
	if !slices.IsSorted(times) {
		return nil, fmt.Errorf("times %v", times)
	}
	for i := range v.Len() {
		if b, err := v.ReadFrame(context.Background(), i); err != nil || len(b) == 0 {
			return nil, fmt.Errorf("frame %d of %d bytes: %w", i, len(b), err)
		}
		if frame, off := v.Nearest(times[i]); off != 0 || times[frame] != times[i] {
			return nil, fmt.Errorf("nearest to %d is frame %d, %d from it", times[i], frame, off)
		}
	}
	for _, d := range v.Notes.Damage() {
		if d.Count < 1 || d.Cause == nil || d.Cause.(*dataset.FormatError).Offset > int64(len(data)) {
			return nil, fmt.Errorf("damage %v", d)
		}
	}
	for n := range min(v.Len(), 8) {
		from := v.Len() * n / 8
		r := v.plan(video.Numbers(from, min(from+3, v.Len())))
		if len(r.samples) > len(data)/2 {
			return nil, fmt.Errorf("%d samples", len(r.samples))
		}
	}
	return v, nil
}

func TestATruncatedFileGivesTheFramesThatAreWhole(t *testing.T) {
	for _, name := range []string{"h264_front.mp4", "h264_back.mp4", "sound.mov"} {
		data := filetest.Read(t, filepath.Join("testdata", name))
		whole, err := exercise(data)
		require.NoError(t, err)
		given := 0
		for n := range data {
			v, wrong := exercise(data[:n])
			require.NoError(t, wrong, "%s cut to %d bytes", name, n)
			want := 0
			for _, s := range whole.samples {
				if s.at+int64(s.size) <= int64(n) {
					want++
				}
			}
			if v == nil {
				continue
			}
			require.NotEmpty(t, v.Notes.Damage(), "%s cut to %d bytes", name, n)
			require.LessOrEqual(t, v.Len(), want, "%s cut to %d bytes", name, n)
			given += v.Len()
			if name == "h264_front.mp4" {
				require.Equal(t, want, v.Len(), "%s cut to %d bytes", name, n)
				require.Equal(t, len(whole.samples)-want, v.Notes.Damage()[len(v.Notes.Damage())-1].Count)
			}
		}
		assert.Positive(t, given, name)
	}
}

func TestMutantsDoNoHarm(t *testing.T) {
	_, names := golden(t)
	seeds, err := mutate.Files("testdata", names...)
	require.NoError(t, err)
	for _, b := range [][]byte{
		newMovie().with("stz2", 0, 4, 4, 0xaaaa0000).with("co64", 0, 2, 0, 24, 0, 44).bytes(), newMovie().edit(1, 1, 0, 400, 0, 20, 1<<16).bytes(),
	} {
		seeds = append(seeds, mutate.Seed{Name: "made", Data: b})
	}
	for i := range seeds { // the media is of no interest here
		seeds[i].From = bytes.Index(seeds[i].Data, []byte("moov"))
		seeds[i].To = seeds[i].From + 1200
	}
	good, n := 0, 0
	mutate.Run(t, mutate.Plan{Seeds: seeds, Few: 7000, Most: 16 << 20, Try: func(m mutate.Mutant) {
		v, wrong := exercise(m.Data)
		require.NoError(t, wrong)
		n++
		if v != nil {
			good++
		}
	}})
	assert.GreaterOrEqual(t, good, n/10, "files that were still read")
}

func FuzzFile(f *testing.F) {
	for _, name := range []string{"h264_front.mp4", "av1.mp4", "late.mp4", "negative.mp4", "fragmented.mp4"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add(newMovie().with("stz2", 0, 4, 4, 0xaaaa0000).with("co64", 0, 2, 0, 24, 0, 44).bytes())
	f.Add(newMovie().edit(1, 1, 0, 400, 0, 20, 1<<16).bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		_, wrong := exercise(data)
		require.NoError(t, wrong)
	})
}

func TestWhatIsNoFileIsNotWaitedFor(t *testing.T) {
	_, err := Open(t.TempDir())
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

func TestBoxesThatAreBrokenAreCounted(t *testing.T) {
	whole := filetest.Read(t, "testdata/h264_front.mp4")
	v, err := open(append(slices.Clone(whole), 0, 0, 0, 3, 'a', 'b', 'c', 'd'))
	require.NoError(t, err)
	assert.NotNil(t, v.Notes.Find(dataset.CodeNoBoxes), v.Notes)

	broken := slices.Clone(whole)
	binary.BigEndian.PutUint32(broken[bytes.LastIndex(broken, []byte("udta"))-4:], 4)
	v, err = open(broken)
	require.NoError(t, err)
	assert.NotNil(t, v.Notes.Find(dataset.CodeBoxBroken), v.Notes)
}
