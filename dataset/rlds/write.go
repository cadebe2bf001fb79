package rlds

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// TimeKey is the feature with the step times, int64 nanoseconds. RLDS has none, so it is this project's own, and Open takes it as the
// clock.
const TimeKey = steps + "time_ns"

// steps begins the keys that have a value in each step.
const steps = "steps/"

// Columns are the features in an episode to write, by their names in the record. With "steps/" at its start a feature has a value in each
// step, for example "steps/observation/state"; otherwise one value in the episode, for example "episode_metadata/file_path".
type Columns map[string]*Column

// Column is one feature: its declaration in features.json, and its values.
type Column struct {
	DType  string // the type in features.json: "float32", "bool"; "string" for a text
	Shape  []int  // the shape of one value; height, width and channels for an image; nil for a scalar or a text
	Format string // "jpeg" or "png" for an image; empty for others
	Doc    string // the description in features.json; may be empty
	// All steps' values, row by row, in one list: whole numbers and booleans in Ints (uint64 with the same bits), other numbers in Floats,
	// texts and encoded images in Bytes.
	Ints   []int64
	Floats []float32
	Bytes  [][]byte
}

// Declaration returns the type, the shape and the format as text. Example: "uint8 [64,64,3] jpeg".
func (c *Column) Declaration() string {
	return strings.TrimSpace(c.DType + " " + shapeText(c.Shape) + " " + c.Format)
}

// enclose makes the bytes from at on the content of a protobuf field with a number below 16.
func enclose(b []byte, at, num int) []byte {
	head := binary.AppendUvarint([]byte{byte(num<<3 | wireBytes)}, uint64(len(b)-at))
	return slices.Insert(b, at, head...)
}

// appendValues appends a column's values, as tf.train.Feature has them, and returns how many there are.
func (c *Column) appendValues(b []byte) ([]byte, int) {
	at, kind := len(b), bytesList
	for _, item := range c.Bytes {
		b = enclose(append(b, item...), len(b), 1)
	}
	for _, v := range c.Ints {
		b = binary.AppendUvarint(b, uint64(v))
	}
	for _, v := range c.Floats {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	switch {
	case c.Floats != nil:
		b, kind = enclose(b, at, 1), floatList
	case c.Ints != nil:
		b, kind = enclose(b, at, 1), int64List
	}
	return enclose(b, at, int(kind)), len(c.Bytes) + len(c.Ints) + len(c.Floats)
}

// AppendRecord appends an episode's TFRecord to b: a tf.Example between its checksums. All columns below "steps/" must have equally many
// rows, and the others one. Otherwise, and if the record exceeds protobuf's limit, 2 GiB, the error is a *dataset.StreamError.
func AppendRecord(b []byte, columns Columns) ([]byte, error) {
	at, all := len(b), 0
	b = append(b, make([]byte, headSize)...)
	for _, key := range slices.Sorted(maps.Keys(columns)) {
		c, entry := columns[key], len(b)
		b = enclose(append(b, key...), entry, 1)
		value, n, width := len(b), 0, 1
		b, n = c.appendValues(b)
		if c.Bytes == nil {
			size, _ := tensor.NumElements(c.Shape...)
			width = max(size, 1)
		}
		want := width
		if strings.HasPrefix(key, steps) {
			all = cmp.Or(all, n/width)
			want = all * width
		}
		if b = enclose(enclose(b, value, 2), entry, 1); n != want || len(b)-at > maxRecord {
			return nil, &dataset.StreamError{Stream: key, Arg: "Values", Got: fmt.Sprintf("%d values, in a record of %d bytes", n, len(b)-at),
				Want: fmt.Sprintf("%d, at most %d", want, maxRecord)}
		}
	}
	return seal(enclose(b, at+headSize, 1), at), nil
}

// seal writes the head of the TFRecord at an index, after which its data is the rest of b, and appends its tail.
func seal(b []byte, at int) []byte {
	binary.LittleEndian.PutUint64(b[at:], uint64(len(b)-at-headSize))
	binary.LittleEndian.PutUint32(b[at+8:], checksum(b[at:at+8]))
	return binary.LittleEndian.AppendUint32(b, checksum(b[at+headSize:]))
}

// AppendTFRecord appends a TFRecord with any data to b.
func AppendTFRecord(b, data []byte) []byte {
	at := len(b)
	return seal(append(append(b, make([]byte, headSize)...), data...), at)
}

// Overhead is a TFRecord's size, in bytes, without its data.
const Overhead = headSize + tailSize

// object is an object in JSON.
type object = map[string]any

// declare returns a feature with a Python class and its content, in protobuf's JSON.
func declare(class, name string, content object) object {
	return object{"pythonClassName": "tensorflow_datasets.core.features." + class, name: content}
}

func (c *Column) declare() object {
	shape := object{}
	if len(c.Shape) > 0 {
		shape["dimensions"] = decimals(c.Shape)
	}
	class, name, content := "tensor_feature.Tensor", "tensor", object{"dtype": c.DType, "encoding": "none", "shape": shape}
	switch {
	case c.Format != "":
		class, name, content = "image_feature.Image", "image", object{"dtype": c.DType, "encodingFormat": c.Format, "shape": shape}
	case c.DType == "string":
		class, name, content = "text_feature.Text", "text", object{}
	case c.Shape == nil:
		class = "scalar.Scalar"
	}
	f := declare(class, name, content)
	if c.Doc != "" {
		f["description"] = c.Doc
	}
	return f
}

// decimals returns numbers as protobuf's JSON has those in 64 bits.
func decimals(list []int) []string { return strings.Fields(strings.Trim(fmt.Sprint(list), "[]")) }

// Features returns the content for features.json. If a name begins another, such as "steps/a" and "steps/a/b", the error is a
// *dataset.StreamError about the shorter one.
func Features(columns Columns) ([]byte, error) {
	features, err := object{}, error(nil)
	dictionaries := map[string]object{"": features}
	var inside func(dir string) object
	inside = func(dir string) object {
		at := dictionaries[dir]
		if at == nil {
			at = object{}
			dictionaries[dir] = at
			above, name := path.Split(strings.TrimSuffix(dir, "/"))
			outer := inside(above)
			if outer[name] != nil {
				err = &dataset.StreamError{Stream: above + name, Arg: "Name", Got: "features inside it", Want: "another name, because it has values"}
			}
			outer[name] = dictionary(at)
		}
		return at
	}
	for _, key := range slices.Sorted(maps.Keys(columns)) {
		dir, name := path.Split(key)
		inside(dir)[name] = columns[key].declare()
	}
	if err != nil {
		return nil, err
	}
	features["steps"] = declare("dataset_feature.Dataset", "sequence", object{"feature": features["steps"], "length": "-1"})
	return json.MarshalIndent(dictionary(features), "", "    ")
}

func dictionary(features object) object {
	return declare("features_dict.FeaturesDict", "featuresDict", object{"features": features})
}

// SplitFiles are a split's record files: the number of records in each, and the bytes in all records without their Overhead.
type SplitFiles struct {
	Name    string
	Lengths []int
	Bytes   int64
}

// ShardName returns the name for record file i, from 0, among n.
func ShardName(name, split string, i, n int) string {
	return fmt.Sprintf("%s-%s.tfrecord-%05d-of-%05d", name, split, i, n)
}

// DatasetInfo returns the content for dataset_info.json, for record files with names from ShardName.
func DatasetInfo(name, version string, splits []SplitFiles) ([]byte, error) {
	var list []object
	for _, s := range splits {
		list = append(list, object{
			"name": s.Name, "shardLengths": decimals(s.Lengths), "numBytes": fmt.Sprint(s.Bytes), "filepathTemplate": defaultTemplate,
		})
	}
	return json.MarshalIndent(object{"name": name, "version": version, "fileFormat": "tfrecord", "splits": list}, "", "  ")
}
