package all

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/mp4"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/internal/test/thorough"
	_ "github.com/robocache/robocache/storage/s3"
	"github.com/robocache/robocache/tensor"
)

// bucket and prefix are where the tests' recordings are: of names that must not be taken for a URL's escapes, query or fragment.
const (
	bucket = "recordings"
	prefix = "run #1/100%"
)

// told is all that a dataset says and holds, as text, with root for where it is.
func told(d dataset.Dataset, root string) string {
	var b strings.Builder
	ctx := context.Background()
	fmt.Fprintf(&b, "%s %s %d\n%+v\n", d.Name(), d.Format(), d.Len(), d.Info())
	episodes := dataset.Episodes(ctx, d)
	if most := thorough.Of(10, d.Len()); d.Len() > most {
		episodes = func(yield func(*dataset.Episode, error) bool) {
			for i := range most {
				if !yield(d.Episode(ctx, i*d.Len()/most)) {
					return
				}
			}
		}
	}
	for e, err := range episodes {
		if err != nil {
			fmt.Fprintf(&b, "error %v\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s %d %v %v %+v\n%v %v %d\n", e.Name, e.Frames, e.Steps, e.Rotation, e.Attributes.Other, e.Dropouts, e.Notes, e.Record)
		fmt.Fprintf(&b, "%s %s\n", e.Attributes.Source, e.Attributes.Task)
		for _, d := range e.Notes.Damage() {
			fmt.Fprintf(&b, "%s %d %v\n", d.Code, d.Count, d.Cause)
		}
		for i := range e.Streams {
			s := &e.Streams[i]
			fmt.Fprintf(&b, "stream %s %v %d %v %v %s %s\n", s.Name, s.Columns, s.Inexact, s.Times, s.Values, sum(s.Times), sum(s.Values))
		}
		for i := range e.Media {
			m := &e.Media[i]
			fmt.Fprintf(&b, "media %s %s %d %d %v", m.Name, m.Encoding, m.Width, m.Height, m.Times)
			for k := range min(m.Len(), 20) {
				frame, err := m.Frame(ctx, k)
				fmt.Fprintf(&b, " %x %v", sha256.Sum256(frame), err)
			}
			fmt.Fprintln(&b)
		}
		for i := range e.Clouds {
			c := &e.Clouds[i]
			fmt.Fprintf(&b, "clouds %s %v", c.Name, c.Times)
			for k := range min(c.Len(), 5) {
				cloud, err := c.Cloud(ctx, k)
				if err != nil {
					fmt.Fprintf(&b, " %v", err)
					continue
				}
				fmt.Fprintf(&b, " %s %s %v", sum(cloud.Points), sum(cloud.Features), cloud.Columns)
			}
			fmt.Fprintln(&b)
		}
	}
	return strings.ReplaceAll(b.String(), root, "ROOT")
}

// sum is that of a tensor's bytes.
func sum(t *tensor.Tensor) string {
	if t == nil {
		return "none"
	}
	h := sha256.New()
	if err := npy.WriteData(h, t); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// compared opens a recording on disk and in the bucket, and holds one against the other.
func compared(t *testing.T, root, name string) (opened bool) {
	ctx := context.Background()
	remote := "s3://" + bucket + "/" + prefix
	opt := dataset.Options{Rate: 10}
	here, errHere := dataset.Open(ctx, filepath.Join(root, filepath.FromSlash(name)), opt)
	there, errThere := dataset.Open(ctx, remote+"/"+name, opt)
	if errHere != nil {
		require.Error(t, errThere, "on disk: %v", errHere)
		assert.Equal(t, strings.ReplaceAll(errHere.Error(), root, "ROOT"), strings.ReplaceAll(errThere.Error(), remote, "ROOT"))
		return false
	}
	defer here.Close()
	require.NoError(t, errThere)
	defer there.Close()
	want, got := strings.Split(told(here, root), "\n"), strings.Split(told(there, remote), "\n")
	for i := range min(len(want), len(got)) {
		require.Equal(t, want[i], got[i])
	}
	assert.Len(t, got, len(want))
	return true
}

// record is a record of TFRecord.
func record(data []byte) []byte {
	mask := func(b []byte) uint32 {
		c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
		return (c>>15 | c<<17) + 0xa282ead8
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, mask(b))
	return binary.LittleEndian.AppendUint32(append(b, data...), mask(data))
}

// field is a field of protobuf that has a length.
func field(number byte, parts ...[]byte) []byte {
	body := slices.Concat(parts...)
	return append([]byte{number<<3 | 2, byte(len(body))}, body...)
}

// examples writes small recordings of our own, of formats that have none in testdata, and copies the others beside them.
func examples(t *testing.T) string {
	root := t.TempDir()
	write := func(name string, data []byte) {
		path := filepath.Join(root, filepath.FromSlash(name))
		filetest.Write(t, path, data)
	}
	write("table/a.csv", []byte("timestamp,x,y\n0,1,2\n0.1,3,4\n0.2,5,oops\n"))
	write("table/b c.csv", []byte("timestamp,x,y\n0,1,2\n0.1,3,4\n"))
	write("table/readme.md", []byte("of both"))
	write("tum/groundtruth.txt", []byte("# timestamp tx ty tz qx qy qz qw\n1.5 0 0 0 0 0 0 1\n2.5 1 0 0 0 0 0 1\n"))
	write("tum/rgb.txt", []byte("1.5 rgb/1.png\n2 rgb/2.png\n2.5 rgb/gone.png\n"))
	write("tum/rgb/1.png", []byte("a picture"))
	write("tum/rgb/2.png", []byte("another picture"))
	write("rlds/1.0.0/features.json", []byte(`{"pythonClassName":"tensorflow_datasets.core.features.features_dict.FeaturesDict","featuresDict":{"features":{"steps":{
		"pythonClassName":"tensorflow_datasets.core.features.dataset_feature.Dataset","sequence":{"length":"-1","feature":{
		"pythonClassName":"tensorflow_datasets.core.features.features_dict.FeaturesDict","featuresDict":{"features":{"action":{
		"pythonClassName":"tensorflow_datasets.core.features.tensor_feature.Tensor","tensor":{"shape":{"dimensions":["2"]},"dtype":"float32","encoding":"none"}}}}}}}}}}`))
	write("rlds/1.0.0/dataset_info.json", []byte(`{"name":"toy","version":"1.0.0","fileFormat":"tfrecord","splits":[{"name":"train","shardLengths":["1"]}]}`))
	floats := make([]byte, 0, 16)
	for _, v := range []uint32{0x3f800000, 0x40000000, 0x40400000, 0x40800000} {
		floats = binary.LittleEndian.AppendUint32(floats, v)
	}
	example := field(1, field(1, field(1, []byte("steps/action")), field(2, field(2, field(1, floats)))))
	write("rlds/1.0.0/toy-train.tfrecord-00000-of-00001", record(example))
	write("text.bin", []byte("of no format\x00"))
	for name, from := range map[string]string{"aloha.hdf5": "aloha/testdata/jpeg.hdf5", "raw.hdf5": "aloha/testdata/raw.hdf5", "several.hdf5": "hdf5/plain/testdata/several.hdf5",
		"demos.hdf5": "isaaclab/testdata/demos.hdf5", "streams.npz": "../cmd/robocache/testdata/ramp.npz"} {
		data := filetest.Read(t, filepath.FromSlash("../"+from))
		write(name, data)
	}
	for _, name := range []string{"calvin", "calvins/a", "calvins/b"} {
		require.NoError(t, os.CopyFS(filepath.Join(root, name), os.DirFS(filepath.FromSlash("../calvin/testdata/small"))))
	}
	write("calvins/c/run.npz", nil) // a folder that is none
	const kinds = "../zarr/testdata/kinds2.zarr.zip"
	write("kinds.zarr.zip", filetest.Read(t, filepath.FromSlash(kinds)))
	archive, err := zip.OpenReader(filepath.FromSlash(kinds))
	require.NoError(t, err)
	defer archive.Close()
	require.NoError(t, os.CopyFS(filepath.Join(root, "kinds.zarr"), archive))
	return root
}

func TestARecordingInABucketIsThatOnDisk(t *testing.T) {
	root := examples(t)
	s3test.Shared().PutFolder(t, bucket, prefix, root)
	for _, name := range []string{"table", "table/a.csv", "table/b c.csv", "tum", "tum/groundtruth.txt", "rlds", "rlds/1.0.0", "rlds/1.0.0/toy-train.tfrecord-00000-of-00001",
		"aloha.hdf5", "raw.hdf5", "several.hdf5", "demos.hdf5", "streams.npz", "kinds.zarr", "kinds.zarr.zip", "calvin", "calvin/training", "calvin/training/lang_annotations", "calvins", "text.bin", "tum/rgb"} {
		t.Run(name, func(t *testing.T) { compared(t, root, name) })
	}
}

// TestTheSharedRecordingsInABucketAreThoseOnDisk opens each folder, and its files: up to 25 in the long set. The default set has one if the folder is
// a recording itself, because the folder's recording includes the others, and else two.
func TestTheSharedRecordingsInABucketAreThoseOnDisk(t *testing.T) {
	root, err := filepath.Abs(filepath.FromSlash("../../../shared/data"))
	require.NoError(t, err)
	if _, err := os.Stat(root); err != nil {
		t.Skip("the shared recordings are not here: ", err)
	}
	s3test.Shared().PutFolder(t, bucket, prefix, root)
	count, read := map[string]int{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		dir := filepath.Dir(name)
		most := thorough.Of(2, 25)
		if read[dir] {
			most = thorough.Of(1, 25)
		}
		if !entry.IsDir() {
			if count[dir]++; count[dir] > most {
				return nil
			}
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) { read[name] = compared(t, root, filepath.ToSlash(name)) })
		return nil
	}))
}

// fetched is how many bytes of a server a function takes.
func fetched(do func()) int64 {
	s := s3test.Shared()
	s.Count()
	do()
	_, n := s.Count()
	return n
}

// TestFilesWithAnIndexAreReadInPart opens large files, of which most is not asked for.
func TestFilesWithAnIndexAreReadInPart(t *testing.T) {
	const large = 24 << 20
	ctx, server := context.Background(), s3test.Shared()
	noise := make([]byte, large)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	big, err := tensor.Of(noise, large/3, 3)
	require.NoError(t, err)
	small, err := tensor.Of([]int64{1, 2, 3}, 3)
	require.NoError(t, err)
	put := func(name string, data []byte) string {
		server.Put(t, bucket, "large/"+name, data)
		return "s3://" + bucket + "/large/" + name
	}
	part := func(name string, do func()) {
		n := fetched(do)
		assert.Less(t, n, int64(large/10), name)
		assert.Positive(t, n)
	}

	var b bytes.Buffer
	w := safetensors.NewWriter(&b)
	require.NoError(t, errors.Join(w.Add("big", big), w.Add("small", small), w.Add("twice", big), w.Close()))
	at := put("a.safetensors", b.Bytes())
	part("safetensors", func() {
		f, err := safetensors.Open(at)
		require.NoError(t, err)
		defer f.Close()
		got, err := f.Tensor("small")
		require.NoError(t, err)
		assert.Equal(t, sum(small), sum(got))
	})

	b.Reset()
	a := npz.NewWriter(&b, npz.Options{})
	require.NoError(t, errors.Join(a.Add("big", big), a.Add("small", small), a.Add("twice", big), a.Close()))
	at = put("a.npz", b.Bytes())
	part("npz", func() {
		f, err := npz.Open(at)
		require.NoError(t, err)
		defer f.Close()
		got, err := f.Tensor("small")
		require.NoError(t, err)
		assert.Equal(t, sum(small), sum(got))
		_, err = f.Header("twice")
		require.NoError(t, err)
	})

	demos := filetest.Read(t, "../isaaclab/testdata/demos.hdf5")
	at = put("demos.hdf5", append(demos, noise...)) // what no address leads to
	part("hdf5", func() {
		d := settest.Open(t, at)
		settest.Episode(t, d, 0)
	})

	video := filetest.Read(t, "../mp4/testdata/h264_front.mp4")
	free := append(binary.BigEndian.AppendUint32(nil, uint32(8+large)), "free"...)
	at = put("a.mp4", slices.Concat(video, free, noise))
	part("mp4", func() {
		f, err := mp4.Open(at)
		require.NoError(t, err)
		defer f.Close()
		track, err := f.Video()
		require.NoError(t, err)
		_, err = track.ReadFrame(ctx, track.Len()-1)
		require.NoError(t, err)
	})
}

// TestAVideoInABucketIsDecoded has ffmpeg read frames that come by ranges.
func TestAVideoInABucketIsDecoded(t *testing.T) {
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		t.Skip("no ffmpeg: ", err)
	}
	const name = "../mp4/testdata/h264_front.mp4"
	video := filetest.Read(t, name)
	s3test.Shared().Put(t, bucket, "video.mp4", video)
	pictures := func(path string) (list []string) {
		f, err := mp4.Open(path)
		require.NoError(t, err)
		defer f.Close()
		track, err := f.Video()
		require.NoError(t, err)
		for picture, err := range track.DecodeFrames(context.Background(), 0, min(track.Len(), 5)) {
			require.NoError(t, err)
			list = append(list, sum(picture))
		}
		return list
	}
	assert.Equal(t, pictures(name), pictures("s3://"+bucket+"/video.mp4"))
}
