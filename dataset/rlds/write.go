package rlds

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/internal/records"
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

// IntRange returns the smallest and the largest whole number that both int64 and a type in features.json have. It returns false if the
// type has fractions.
func IntRange(dtype string) (low, high int64, ok bool) {
	s := scalars[dtype]
	size := 8 * s.Size()
	switch s {
	case records.Bool:
		return 0, 1, true
	case records.U8, records.U16, records.U32:
		return 0, 1<<size - 1, true
	case records.U64:
		return 0, math.MaxInt64, true
	case records.I8, records.I16, records.I32, records.I64:
		return -1 << (size - 1), 1<<(size-1) - 1, true
	}
	return 0, 0, false
}

// IsFloat reports whether a name in features.json is a type with fractions.
func IsFloat(dtype string) bool {
	s, known := scalars[dtype]
	return known && !s.IsInteger()
}

// fieldSize returns the size, in bytes, that a protobuf field with n bytes and a number below 16 has.
func fieldSize(n int) int { return 1 + varintSize(uint64(n)) + n }

func varintSize(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

func begin(b []byte, num, n int) []byte {
	return binary.AppendUvarint(append(b, byte(num<<3|wireBytes)), uint64(n))
}

// rows returns how many values a column has, and its list's size in bytes. packed is the size without the field that has the numbers.
func (c *Column) rows() (rows int, kind listKind, size, packed int) {
	width := 1
	for _, d := range c.Shape {
		width *= d
	}
	switch {
	case c.DType == "string" || c.Format != "":
		for _, b := range c.Bytes {
			size += fieldSize(len(b))
		}
		return len(c.Bytes), bytesList, size, 0
	case IsFloat(c.DType):
		rows, kind, packed = len(c.Floats), floatList, 4*len(c.Floats)
	default:
		rows, kind = len(c.Ints), int64List
		for _, v := range c.Ints {
			packed += varintSize(uint64(v))
		}
	}
	if width == 0 || rows%width != 0 {
		return -1, kind, 0, 0
	}
	return rows / width, kind, fieldSize(packed), packed
}

// AppendRecord appends an episode's TFRecord to b: a tf.Example between its checksums. All columns below "steps/" must have equally many
// rows, and the others one. Otherwise, and if the record exceeds protobuf's limit, 2 GiB, the error is a *dataset.StreamError.
func AppendRecord(b []byte, columns Columns) ([]byte, error) {
	total, all := 0, -1
	keys := slices.Sorted(maps.Keys(columns))
	entry := func(key string, size int) int { return fieldSize(len(key)) + fieldSize(fieldSize(size)) }
	for _, key := range keys {
		c := columns[key]
		rows, _, size, _ := c.rows()
		want := 1
		if strings.HasPrefix(key, steps) {
			if all < 0 {
				all = rows
			}
			want = all
		}
		if rows != want || rows < 0 {
			return nil, &dataset.StreamError{Stream: key, Arg: "Values", Got: fmt.Sprintf("%d rows", rows), Want: fmt.Sprintf("%d of %s", want, shapeText(c.Shape))}
		}
		total += fieldSize(entry(key, size))
	}
	if fieldSize(total) > maxRecord {
		return nil, &dataset.StreamError{Stream: "episode", Arg: "Values", Got: fmt.Sprintf("%d bytes", total), Want: fmt.Sprintf("at most %d, as a protobuf message has", maxRecord)}
	}
	at := len(b)
	b = binary.LittleEndian.AppendUint64(slices.Grow(b, Overhead+fieldSize(total)), uint64(fieldSize(total)))
	b = binary.LittleEndian.AppendUint32(b, checksum(b[at:]))
	b = begin(b, 1, total)
	for _, key := range keys {
		c := columns[key]
		_, kind, size, packed := c.rows()
		b = append(begin(begin(b, 1, entry(key, size)), 1, len(key)), key...)
		b = begin(begin(b, 2, fieldSize(size)), int(kind), size)
		switch kind {
		case bytesList:
			for _, item := range c.Bytes {
				b = append(begin(b, 1, len(item)), item...)
			}
		case floatList:
			if b = begin(b, 1, packed); raw.Little {
				b = append(b, raw.Bytes(c.Floats)...)
				continue
			}
			b, _ = binary.Append(b, binary.LittleEndian, c.Floats) // numbers have a fixed size, so there is no error
		default:
			b = begin(b, 1, packed)
			for _, v := range c.Ints {
				b = binary.AppendUvarint(b, uint64(v))
			}
		}
	}
	return binary.LittleEndian.AppendUint32(b, checksum(b[at+headSize:])), nil
}

// Overhead is a TFRecord's size, in bytes, without its data.
const Overhead = headSize + tailSize

// object is an object in JSON.
type object = map[string]any

// declare returns a feature with a Python class and its content, in protobuf's JSON.
func declare(class, name string, content object) object {
	return object{"pythonClassName": "tensorflow_datasets.core.features." + class, name: content}
}

func (c *Column) declare() (f object) {
	shape := object{}
	for _, d := range c.Shape {
		list, _ := shape["dimensions"].([]string)
		shape["dimensions"] = append(list, strconv.Itoa(d))
	}
	switch {
	case c.Format != "":
		f = declare("image_feature.Image", "image", object{"dtype": c.DType, "encodingFormat": c.Format, "shape": shape})
	case c.DType == "string":
		f = declare("text_feature.Text", "text", object{})
	default:
		class := "tensor_feature.Tensor"
		if len(c.Shape) == 0 {
			class = "scalar.Scalar"
		}
		f = declare(class, "tensor", object{"dtype": c.DType, "encoding": "none", "shape": shape})
	}
	if c.Doc != "" {
		f["description"] = c.Doc
	}
	return f
}

// Features returns the content for features.json. If a name begins another, such as "steps/a" and "steps/a/b", the error is a
// *dataset.StreamError about the longer one.
func Features(columns Columns) ([]byte, error) {
	root := object{}
	for _, key := range slices.Sorted(maps.Keys(columns)) {
		at, names := root, strings.Split(key, "/")
		for _, name := range names[:len(names)-1] {
			if at[name] == nil {
				at[name] = object{}
			}
			below, ok := at[name].(object)
			if !ok {
				return nil, &dataset.StreamError{Stream: key, Arg: "Name", Got: "a feature inside " + name, Want: "another name, because " + name + " is no dictionary"}
			}
			at = below
		}
		at[names[len(names)-1]] = columns[key]
	}
	top := declareDict(root)
	features := top["featuresDict"].(object)["features"].(object)
	if all, ok := features["steps"]; ok {
		features["steps"] = declare("dataset_feature.Dataset", "sequence", object{"feature": all, "length": "-1"})
	}
	return json.MarshalIndent(top, "", "    ")
}

// declareDict declares a dictionary, which has columns and dictionaries by their names.
func declareDict(members object) object {
	features := object{}
	for name, m := range members {
		switch m := m.(type) {
		case *Column:
			features[name] = m.declare()
		case object:
			features[name] = declareDict(m)
		}
	}
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
		var lengths []string
		for _, n := range s.Lengths {
			lengths = append(lengths, strconv.Itoa(n))
		}
		list = append(list, object{
			"name": s.Name, "shardLengths": lengths, "numBytes": strconv.FormatInt(s.Bytes, 10), "filepathTemplate": defaultTemplate,
		})
	}
	return json.MarshalIndent(object{"name": name, "version": version, "fileFormat": "tfrecord", "splits": list}, "", "  ")
}
