package mcap

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// schemaText is the content of a schema record to write.
type schemaText struct {
	name, encoding string
	data           []byte
}

// numbers has the schema and the encoder of one stream to write. encode appends the message for row i to b.
type numbers struct {
	schema   schemaText
	metadata map[string]string
	encode   func(ctx context.Context, b []byte, i int) ([]byte, error)
}

func newNumbers(e *dataset.Episode, s *dataset.Stream, encoding Encoding) (*numbers, error) {
	if len(s.Columns) > maxColumns {
		return nil, &Error{"stream " + s.Name, dataset.ErrTooLarge, fmt.Sprintf("%d columns", len(s.Columns)), fmt.Sprintf("at most %d", maxColumns)}
	}
	columns, err := columnsText(s.Columns)
	if err != nil {
		return nil, err
	}
	n := &numbers{metadata: map[string]string{columnsKey: columns, dtypeKey: s.Values.DType().String()}}
	if poses, err := posesOf(s); poses != nil || err != nil {
		n.schema, n.encode = foxgloveSchema("FrameTransform", encoding), transforms(e, s, poses, encoding)
		return n, err
	}
	wide := s.Values.DType() == tensor.F64
	switch {
	case encoding == JSON:
		n.schema, err = jsonNumbers(s)
	default:
		n.schema, err = protoNumbers(s, wide)
	}
	if err != nil {
		return nil, err
	}
	switch s.Values.DType() {
	case tensor.F64:
		data, err := tensor.Packed[float64](s.Values)
		n.encode = encoder(data, s.Columns, encoding)
		return n, err
	case tensor.F32:
		data, err := tensor.Packed[float32](s.Values)
		n.encode = encoder(data, s.Columns, encoding)
		return n, err
	}
	data, err := tensor.Floats(s.Values)
	n.encode = encoder(tensor.Cast[float32](data), s.Columns, encoding) // float16 and bfloat16
	return n, err
}

// encoder returns a function that appends row i of data to b, as JSON or as a protobuf message. data is [S,D], D columns.
func encoder[T float32 | float64](data []T, columns []dataset.Column, encoding Encoding) func(context.Context, []byte, int) ([]byte, error) {
	d := len(columns)
	if encoding == JSON {
		keys := fieldNames(columns)
		for k, name := range keys {
			keys[k] = string(quoted(name)) + ":"
		}
		return func(_ context.Context, b []byte, i int) ([]byte, error) {
			b = append(b, '{')
			for k, v := range data[i*d : (i+1)*d] {
				if k > 0 {
					b = append(b, ',')
				}
				b = appendNumber(append(b, keys[k]...), v)
			}
			return append(b, '}'), nil
		}
	}
	return func(_ context.Context, b []byte, i int) ([]byte, error) {
		for k, v := range data[i*d : (i+1)*d] {
			switch v := any(v).(type) {
			case float32:
				b = protowire.AppendFixed32(protowire.AppendTag(b, protowire.Number(k+1), protowire.Fixed32Type), math.Float32bits(v))
			case float64:
				b = protowire.AppendFixed64(protowire.AppendTag(b, protowire.Number(k+1), protowire.Fixed64Type), math.Float64bits(v))
			}
		}
		return b, nil
	}
}

// appendNumber appends the shortest JSON text that parses to v. NaN and the infinities become strings, because JSON has no such
// numbers.
func appendNumber[T float32 | float64](b []byte, v T) []byte {
	f, bits := float64(v), 64
	if _, is := any(v).(float32); is {
		bits = 32
	}
	switch {
	case f != f:
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}

// quoted returns s as a JSON string.
func quoted(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return b
}

// jsonNumbers returns the JSON schema for a stream's messages.
func jsonNumbers(s *dataset.Stream) (schemaText, error) {
	type property struct {
		Type []string `json:"type"`
	}
	type object struct {
		Schema     string              `json:"$schema"`
		Title      string              `json:"title"`
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
	}
	o := object{"https://json-schema.org/draft/2020-12/schema", s.Name, "object", map[string]property{}}
	for _, name := range fieldNames(s.Columns) {
		o.Properties[name] = property{[]string{"number", "string"}}
	}
	b, err := json.Marshal(o)
	return schemaText{"robocache." + identifier(s.Name), "jsonschema", b}, err
}

// protoNumbers returns the protobuf schema for a stream's messages: a file with one message type, with a field per column. The
// fields are double if wide is true, else float.
func protoNumbers(s *dataset.Stream, wide bool) (schemaText, error) {
	kind := descriptorpb.FieldDescriptorProto_TYPE_FLOAT
	if wide {
		kind = descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
	}
	m := &descriptorpb.DescriptorProto{Name: proto.String(identifier(s.Name))}
	for i, name := range fieldNames(s.Columns) {
		m.Field = append(m.Field, field(name, int32(i+1), kind, ""))
	}
	file := protoFile("robocache/"+m.GetName()+".proto", "robocache", m)
	return protoSchema("robocache."+m.GetName(), file)
}

// fieldNames returns a unique field name for each column. The names have no dots, because plotting programs read a dot as a path to
// a nested field. A repeated name gets a number. Example: "x", "x_2".
func fieldNames(columns []dataset.Column) []string {
	list, taken := make([]string, len(columns)), map[string]bool{}
	for i, c := range columns {
		name := identifier(c.Name)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", identifier(c.Name), n)
		}
		list[i], taken[name] = name, true
	}
	return list
}

// identifier converts s to a protobuf identifier: letters, digits and underscores, with a letter first.
func identifier(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	name := strings.TrimRight(b.String(), "_")
	if name == "" || name[0] <= '9' {
		name = strings.TrimRight("c_"+name, "_")
	}
	return name
}
