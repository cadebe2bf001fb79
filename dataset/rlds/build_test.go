package rlds

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// The values of features that are not packed, as other writers have them.
type (
	looseFloats []float32
	looseInts   []int64
)

// tag begins a field of wire type bytes.
func tag(b []byte, num int, body []byte) []byte {
	b = binary.AppendUvarint(b, uint64(num<<3|wireBytes))
	b = binary.AppendUvarint(b, uint64(len(body)))
	return append(b, body...)
}

// encode makes a tf.train.Feature of []float32, []int64, []string, or nothing.
func encode(v any) []byte {
	var list []byte
	switch v := v.(type) {
	case nil:
		return nil
	case []float32:
		var b []byte
		for _, x := range v {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
		}
		return tag(nil, 2, tag(nil, 1, b))
	case looseFloats:
		for _, x := range v {
			list = binary.LittleEndian.AppendUint32(append(list, 1<<3|wireFixed32), math.Float32bits(x))
		}
		return tag(nil, 2, list)
	case []int64:
		var b []byte
		for _, x := range v {
			b = binary.AppendUvarint(b, uint64(x))
		}
		return tag(nil, 3, tag(nil, 1, b))
	case looseInts:
		for _, x := range v {
			list = binary.AppendUvarint(append(list, 1<<3|wireVarint), uint64(x))
		}
		return tag(nil, 3, list)
	case []string:
		for _, x := range v {
			list = tag(list, 1, []byte(x))
		}
		return tag(nil, 1, list)
	case []byte: // as it is
		return v
	}
	panic(fmt.Sprintf("%T", v))
}

type example map[string]any

func (e example) bytes() []byte {
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(e)) {
		b = tag(b, 1, tag(tag(nil, 1, []byte(key)), 2, encode(e[key])))
	}
	return tag(nil, 1, b)
}

// with returns the example with other features.
func (e example) with(other example) example {
	all := maps.Clone(e)
	maps.Copy(all, other)
	return all
}

func recordsOf(list ...[]byte) (b []byte) {
	for _, data := range list {
		at := len(b)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
		b = binary.LittleEndian.AppendUint32(b, checksum(b[at:]))
		b = append(b, data...)
		b = binary.LittleEndian.AppendUint32(b, checksum(data))
	}
	return b
}

// examples are records of the same example, of which the reward tells them apart.
func examples(n int) []byte {
	var list [][]byte
	for i := range n {
		list = append(list, plain.with(example{"steps/reward": []float32{float32(i), 0}}).bytes())
	}
	return recordsOf(list...)
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func deflated(b []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// The JSON of features.

func class(name, content string) string {
	return fmt.Sprintf(`{"pythonClassName":"tensorflow_datasets.core.features.x.%s"%s}`, name, content)
}

func dims(shape []int) string {
	list := make([]string, len(shape))
	for i, d := range shape {
		list[i] = fmt.Sprintf(`"%d"`, d)
	}
	return `{"dimensions":[` + strings.Join(list, ",") + `]}`
}

func array(dtype string, shape ...int) string {
	return class("Tensor", `,"tensor":{"dtype":"`+dtype+`","encoding":"none","shape":`+dims(shape)+`}`)
}

func encoded(encoding, dtype string, shape ...int) string {
	return class("Tensor", `,"tensor":{"dtype":"`+dtype+`","encoding":"`+encoding+`","shape":`+dims(shape)+`}`)
}

func picture(dtype, format string, shape ...int) string {
	return class("Image", `,"image":{"dtype":"`+dtype+`","encodingFormat":"`+format+`","shape":`+dims(shape)+`}`)
}

func sequence(length int, of string) string {
	return class("Sequence", fmt.Sprintf(`,"sequence":{"length":"%d","feature":%s}`, length, of))
}

func dict(features map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(features)) {
		list = append(list, fmt.Sprintf("%q:%s", name, features[name]))
	}
	return class("FeaturesDict", `,"featuresDict":{"features":{`+strings.Join(list, ",")+`}}`)
}

// stepsOf are features.json of what steps have, and of an id beside them.
func stepsOf(features map[string]string) string {
	return dict(map[string]string{"steps": class("Dataset", `,"sequence":{"length":"-1","feature":`+dict(features)+`}`), "id": array("int32")})
}

// plain is an episode of two steps, and plainFeatures what it has.
var (
	plain         = example{"steps/action": []float32{1, 2, 3, 4, 5, 6}, "steps/reward": []float32{0, 1}, "steps/is_first": []int64{1, 0}, "id": []int64{7}}
	plainFeatures = map[string]string{"action": array("float32", 3), "reward": array("float32"), "is_first": array("bool")}
)

// plainWith are the features of plain and others.
func plainWith(name, feature string) string {
	all := maps.Clone(plainFeatures)
	all[name] = feature
	return stepsOf(all)
}

func info(shards ...int) string {
	list := make([]string, len(shards))
	for i, n := range shards {
		list[i] = fmt.Sprintf(`"%d"`, n)
	}
	return `{"name":"d","version":"1.2.3","fileFormat":"tfrecord","splits":[{"name":"train","shardLengths":[` + strings.Join(list, ",") + `]}]}`
}

// write makes a folder of files.
func write(t testing.TB, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		filetest.Write(t, filepath.Join(dir, name), text)
	}
	return dir
}

const onlyShard = "d-train.tfrecord-00000-of-00001"

// folder is a dataset of one shard.
func folder(t testing.TB, features string, n int, shard []byte) string {
	return write(t, map[string]string{infoFile: info(n), featuresFile: features, onlyShard: string(shard)})
}

func open(t testing.TB, path string, opt Options) *Set {
	s, err := Open(context.Background(), path, opt)
	require.NoError(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// one reads an episode of features.
func one(t testing.TB, features string, e example, opt Options) (*dataset.Episode, error) {
	return open(t, folder(t, features, 1, recordsOf(e.bytes())), opt).Episode(context.Background(), 0)
}

func mustOne(t testing.TB, features string, e example) *dataset.Episode {
	got, err := one(t, features, e, Options{})
	require.NoError(t, err)
	require.Nil(t, got.Notes.Damage())
	return got
}

// floats returns a stream's values as float64.
func floats(t testing.TB, s *dataset.Stream) []float64 {
	require.NotNil(t, s)
	require.NoError(t, s.Check())
	if s.Values.DType() == tensor.F64 {
		list, err := tensor.Data[float64](s.Values)
		require.NoError(t, err)
		return list
	}
	list, err := tensor.Data[float32](s.Values)
	require.NoError(t, err)
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = float64(v)
	}
	return out
}
