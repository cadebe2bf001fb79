package message

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/robocache/robocache/dataset"
)

// protoDecoder decodes protobuf messages field by field, in any order.
//
// A missing number is 0, or its type's default. It is NaN if the type distinguishes missing from 0: for members of a oneof, optional
// fields, and all fields of a missing message.
type protoDecoder struct {
	buffered
	top   *protoMessage
	media *protoMedia
	of    protoreflect.MessageDescriptor
}

// protoMessage maps the fields in a message, also an inner one, to columns.
type protoMessage struct {
	fields map[protowire.Number]*protoField
	low    [32]*protoField // fields with low numbers
	row    []float64       // values for missing fields, if the message itself is present
	at     int             // its first column
	slot   int             // index in buffer.seen
}

// protoField is a field in a protoMessage.
type protoField struct {
	what  protoWhat
	name  string
	kind  protoreflect.Kind
	wire  protowire.Type
	at    int           // index of a number's column, a list, or an array of text
	in    *protoMessage // for a struct, or a list's elements
	keyed bool          // whether elements move frames
	named bool          // whether elements have names
	// others holds the column ranges of the other members in a oneof. The last member in the message counts.
	others [][2]int
}

type protoWhat uint8

const (
	protoNumber protoWhat = iota
	protoStruct
	protoList
	protoStructs // a list of structs
	protoLabels
	protoStamp  // of a message or an element
	protoChild  // the moving frame
	protoParent // the frame in which it moves
	protoName   // of an element
	protoSkip
)

func protoError(at int, kind error, what, got, want string) error {
	return &dataset.FormatError{Format: "protobuf", Offset: int64(at), Kind: kind, Msg: what, Got: got, Want: want}
}

func (d *protoDecoder) Append(rows *Rows, data []byte) error {
	b := d.take(d.top.row)
	defer d.buffers.Put(b)
	if err := d.top.read(b, b.row, b.turn, data, 0); err != nil {
		return err
	}
	b.commit(&d.shape, rows)
	return nil
}

func (m *protoMessage) field(n protowire.Number) *protoField {
	if n < 32 {
		return m.low[n]
	}
	return m.fields[n]
}

// read reads a message's fields to row, which is the row for the table or for an element. If a struct occurs again in the same turn,
// the two are merged.
func (m *protoMessage) read(b *buffer, row []float64, turn int, data []byte, at int) error {
	for len(data) > 0 {
		n, wire, k := protowire.ConsumeTag(data)
		if k < 0 {
			return protoError(at, dataset.ErrCorrupt, "tag", protowire.ParseError(k).Error(), "a field's number and type")
		}
		f := m.field(n)
		if f == nil || f.what == protoSkip {
			v := protowire.ConsumeFieldValue(n, wire, data[k:])
			if v < 0 {
				return m.broken(f, n, at+k, v)
			}
			data, at = data[k+v:], at+k+v
			continue
		}
		v, err := f.read(b, row, turn, n, wire, data[k:], at+k)
		if err != nil {
			return err
		}
		if v < 0 {
			return m.broken(f, n, at+k, v)
		}
		data, at = data[k+v:], at+k+v
	}
	return nil
}

func (m *protoMessage) broken(f *protoField, n protowire.Number, at, code int) error {
	name := fmt.Sprintf("field %d", n)
	if f != nil {
		name = "field " + f.name
	}
	kind := dataset.ErrCorrupt
	if code == -1 { // protowire's code for an unexpected end
		kind = dataset.ErrTruncated
	}
	return protoError(at, kind, name, protowire.ParseError(code).Error(), "its value")
}

// read reads a field's value and returns its length.
func (f *protoField) read(b *buffer, row []float64, turn int, n protowire.Number, wire protowire.Type, data []byte, at int) (int, error) {
	for _, o := range f.others {
		fill(row[o[0]:o[1]], math.NaN())
	}
	if f.what == protoNumber && wire == f.wire {
		v, k := f.number(b, data)
		row[f.at] = v
		return k, nil
	}
	since := b.inexact
	if f.what == protoList && wire == f.wire {
		v, k := f.number(b, data)
		b.lists[f.at].add(v)
		b.own(&b.lists[f.at], since)
		return k, nil
	}
	if wire != protowire.BytesType || f.what == protoNumber {
		return 0, protoError(at, dataset.ErrCorrupt, "field "+f.name, fmt.Sprintf("wire type %d", wire), fmt.Sprintf("%d, of %s", f.wire, f.kind))
	}
	value, k := protowire.ConsumeBytes(data)
	if k < 0 {
		return k, nil
	}
	at += k - len(value)
	switch f.what {
	case protoStruct:
		if b.seen[f.in.slot] != turn {
			b.seen[f.in.slot] = turn
			copy(row[f.in.at:], f.in.row)
		}
		return k, f.in.read(b, row, turn, value, at)
	case protoList:
		l := &b.lists[f.at]
		for len(value) > 0 {
			v, k := f.number(b, value)
			if k < 0 {
				return 0, protoError(at, dataset.ErrTruncated, "packed field "+f.name, protowire.ParseError(k).Error(), "whole values")
			}
			l.add(v)
			value, at = value[k:], at+k
		}
		b.own(l, since)
	case protoStructs:
		l := &b.lists[f.at]
		l.element = append(l.element[:0], f.in.row...)
		b.turn++
		outer := b.moving
		b.moving = moving{}
		if err := f.in.read(b, l.element, b.turn, value, at); err != nil {
			return 0, err
		}
		b.own(l, since)
		return k, l.end(b, outer, f.keyed, f.named)
	case protoLabels:
		b.labels[f.at] = append(b.labels[f.at], value)
	case protoStamp:
		ns, err := protoTime(value, at)
		if err != nil {
			return 0, err
		}
		b.time = ns
	case protoChild:
		b.child = value
	case protoParent:
		b.parent = value
	case protoName:
		b.name = value
	}
	return k, nil
}

func fill(list []float64, v float64) {
	for i := range list {
		list[i] = v
	}
}

// number reads one number and returns its length.
func (f *protoField) number(b *buffer, data []byte) (float64, int) {
	var v uint64
	var k int
	switch f.wire {
	case protowire.VarintType:
		if v, k = protowire.ConsumeVarint(data); k < 0 {
			return 0, k
		}
	case protowire.Fixed32Type:
		var low uint32
		if low, k = protowire.ConsumeFixed32(data); k < 0 {
			return 0, k
		}
		v = uint64(low)
	default:
		if v, k = protowire.ConsumeFixed64(data); k < 0 {
			return 0, k
		}
	}
	switch f.kind {
	case protoreflect.DoubleKind:
		return math.Float64frombits(v), k
	case protoreflect.FloatKind:
		return float64(math.Float32frombits(uint32(v))), k
	case protoreflect.BoolKind:
		return float64(min(v, 1)), k
	case protoreflect.Int32Kind, protoreflect.EnumKind, protoreflect.Sfixed32Kind:
		return float64(int32(v)), k
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return float64(uint32(v)), k
	case protoreflect.Sint32Kind:
		return float64(int32(protowire.DecodeZigZag(v & math.MaxUint32))), k
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return exact(b, v), k
	case protoreflect.Sint64Kind:
		return exact(b, protowire.DecodeZigZag(v)), k
	}
	return exact(b, int64(v)), k
}

// exact converts an integer to float64, and counts it if the result is inexact.
func exact[I int64 | uint64](b *buffer, v I) float64 {
	f, is := dataset.Float[float64](v)
	if !is {
		b.inexact++
	}
	return f
}

// protoTime decodes a google.protobuf.Timestamp.
func protoTime(data []byte, at int) (int64, error) {
	var parts [3]uint64
	if err := protoEach(data, at, func(n protowire.Number, v uint64, _ []byte, _ int) error {
		if n <= 2 {
			parts[n] = v
		}
		return nil
	}); err != nil {
		return 0, err
	}
	return nanoseconds(int64(parts[1]), int64(int32(parts[2])), at)
}

// nanoseconds joins seconds and nanoseconds. A time outside int64 nanoseconds is an error.
func nanoseconds(sec, nsec int64, at int) (int64, error) {
	const most = 9223372030 // so that a 32-bit nsec fits too
	if sec > most || sec < -most {
		return 0, &dataset.FormatError{Format: "message", Offset: int64(at), Kind: dataset.ErrCorrupt, Msg: "timestamp", Got: fmt.Sprintf("%d seconds", sec), Want: "a time that int64 nanoseconds hold"}
	}
	return sec*1e9 + nsec, nil
}
