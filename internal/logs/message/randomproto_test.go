package message

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/robocache/robocache/internal/test/thorough"
)

// drawnProto is a file of messages that are drawn at random: each has fields of those before it.
type drawnProto struct {
	*rand.Rand
	types [][]drawnField
	two   bool // of proto2, where each field may be absent
	lists []drawnList
}

type drawnField struct {
	number   int32
	kind     descriptorpb.FieldDescriptorProto_Type
	sub      int
	repeated bool
	presence bool
	packed   bool
}

// drawnList is the values of a list, and the number of its elements.
type drawnList struct {
	values []float64
	count  int
}

var drawnKinds = []descriptorpb.FieldDescriptorProto_Type{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 11, 11, 12, 13, 14, 15, 16, 17, 18}

// file draws the types, and returns their schema.
func (g *drawnProto) file(t *testing.T) Schema {
	f := &descriptorpb.FileDescriptorProto{Name: proto.String("a.proto"), Package: proto.String("p"), Syntax: proto.String("proto3")}
	f.EnumType = []*descriptorpb.EnumDescriptorProto{{Name: proto.String("E"), Value: []*descriptorpb.EnumValueDescriptorProto{{Name: proto.String("A"), Number: proto.Int32(0)}}}}
	if g.two = g.IntN(2) == 0; g.two {
		f.Syntax = proto.String("proto2")
	}
	label := func(n descriptorpb.FieldDescriptorProto_Label) *descriptorpb.FieldDescriptorProto_Label { return &n }
	for i := range 1 + g.IntN(4) {
		m := &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprintf("T%d", i))}
		var fields []drawnField
		number := int32(0)
		for k := range g.IntN(7) {
			number += 1 + g.Int32N(20)
			d := drawnField{number: number, kind: drawnKinds[g.IntN(len(drawnKinds))], sub: -1, repeated: g.IntN(3) == 0, presence: g.two}
			if d.kind == descriptorpb.FieldDescriptorProto_TYPE_MESSAGE && i == 0 {
				d.kind = descriptorpb.FieldDescriptorProto_TYPE_DOUBLE
			}
			of := &descriptorpb.FieldDescriptorProto{Name: proto.String(fmt.Sprintf("f%d", k)), Number: &d.number, Type: &d.kind, Label: label(1)}
			switch d.kind {
			case descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
				d.sub = g.IntN(i)
				of.TypeName = proto.String(fmt.Sprintf(".p.T%d", d.sub))
			case descriptorpb.FieldDescriptorProto_TYPE_ENUM:
				of.TypeName = proto.String(".p.E")
			}
			switch {
			case d.repeated:
				of.Label = label(3)
				d.packed = g.IntN(2) == 0
			case !g.two && d.sub < 0 && g.IntN(4) == 0:
				d.presence = true
				of.Proto3Optional, of.OneofIndex = proto.Bool(true), proto.Int32(int32(len(m.OneofDecl)))
				m.OneofDecl = append(m.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String(fmt.Sprintf("_f%d", k))})
			}
			m.Field = append(m.Field, of)
			fields = append(fields, d)
		}
		f.MessageType, g.types = append(f.MessageType, m), append(g.types, fields)
	}
	data, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{f}})
	require.NoError(t, err)
	return Schema{fmt.Sprintf("p.T%d", len(g.types)-1), "protobuf", data}
}

// number appends a value without its tag, and returns it.
func (g *drawnProto) number(b []byte, kind descriptorpb.FieldDescriptorProto_Type) ([]byte, float64, bool) {
	u := g.Uint64() >> g.IntN(64)
	switch kind {
	case descriptorpb.FieldDescriptorProto_TYPE_DOUBLE:
		v := g.NormFloat64()
		return protowire.AppendFixed64(b, math.Float64bits(v)), v, true
	case descriptorpb.FieldDescriptorProto_TYPE_FLOAT:
		v := float32(g.NormFloat64())
		return protowire.AppendFixed32(b, math.Float32bits(v)), float64(v), true
	case descriptorpb.FieldDescriptorProto_TYPE_INT64:
		return protowire.AppendVarint(b, u), float64(int64(u)), true
	case descriptorpb.FieldDescriptorProto_TYPE_UINT64:
		return protowire.AppendVarint(b, u), float64(u), true
	case descriptorpb.FieldDescriptorProto_TYPE_INT32, descriptorpb.FieldDescriptorProto_TYPE_ENUM:
		return protowire.AppendVarint(b, uint64(int64(int32(u)))), float64(int32(u)), true // ten bytes if negative
	case descriptorpb.FieldDescriptorProto_TYPE_FIXED64:
		return protowire.AppendFixed64(b, u), float64(u), true
	case descriptorpb.FieldDescriptorProto_TYPE_FIXED32:
		return protowire.AppendFixed32(b, uint32(u)), float64(uint32(u)), true
	case descriptorpb.FieldDescriptorProto_TYPE_BOOL:
		return protowire.AppendVarint(b, u&1), float64(u & 1), true
	case descriptorpb.FieldDescriptorProto_TYPE_UINT32:
		return protowire.AppendVarint(b, uint64(uint32(u))), float64(uint32(u)), true
	case descriptorpb.FieldDescriptorProto_TYPE_SFIXED32:
		return protowire.AppendFixed32(b, uint32(u)), float64(int32(u)), true
	case descriptorpb.FieldDescriptorProto_TYPE_SFIXED64:
		return protowire.AppendFixed64(b, u), float64(int64(u)), true
	case descriptorpb.FieldDescriptorProto_TYPE_SINT32:
		return protowire.AppendVarint(b, protowire.EncodeZigZag(int64(int32(u)))), float64(int32(u)), true
	case descriptorpb.FieldDescriptorProto_TYPE_SINT64:
		return protowire.AppendVarint(b, protowire.EncodeZigZag(int64(u))), float64(int64(u)), true
	}
	return protowire.AppendString(b, "text"[:g.IntN(5)]), 0, false
}

// wire is the wire type of a number.
func wire(kind descriptorpb.FieldDescriptorProto_Type) protowire.Type {
	switch kind {
	case 1, 6, 16:
		return protowire.Fixed64Type
	case 2, 7, 15:
		return protowire.Fixed32Type
	case 9, 11, 12:
		return protowire.BytesType
	}
	return protowire.VarintType
}

// message draws a message, or only the row of one that is absent. Its fields are in any order; table is whether lists in it are lists.
func (g *drawnProto) message(t int, table, absent bool) (b []byte, row []float64) {
	var parts [][]byte
	for _, f := range g.types[t] {
		tag := func(w protowire.Type) []byte { return protowire.AppendTag(nil, protowire.Number(f.number), w) }
		there := !absent && g.IntN(4) > 0
		switch {
		case f.repeated:
			list, some, packed := drawnList{}, []byte(nil), []byte(nil)
			columns := g.columns(f)
			n := g.IntN(4)
			if !there {
				n = 0
			}
			for range n {
				if f.sub >= 0 {
					m, values := g.message(f.sub, false, false)
					some, list.values = append(some, protowire.AppendBytes(tag(protowire.BytesType), m)...), append(list.values, values...)
					continue
				}
				v, value, number := g.number(nil, f.kind)
				some, packed = append(append(some, tag(wire(f.kind))...), v...), append(packed, v...)
				if number {
					list.values = append(list.values, value)
				}
			}
			if f.packed && wire(f.kind) != protowire.BytesType && n > 0 {
				some = protowire.AppendBytes(tag(protowire.BytesType), packed)
			}
			parts = append(parts, some)
			if list.count = n; table && columns > 0 {
				g.lists = append(g.lists, list)
			}
		case f.sub >= 0:
			m, values := g.message(f.sub, table, !there)
			if there {
				parts = append(parts, protowire.AppendBytes(tag(protowire.BytesType), m))
			} else {
				for i := range values {
					values[i] = math.NaN()
				}
			}
			row = append(row, values...)
		default:
			v, value, number := g.number(tag(wire(f.kind)), f.kind)
			if there {
				parts = append(parts, v)
			} else if value = 0; f.presence {
				value = math.NaN()
			}
			if number {
				row = append(row, value)
			}
		}
	}
	g.Shuffle(len(parts), func(i, k int) { parts[i], parts[k] = parts[k], parts[i] })
	for _, p := range parts {
		b = append(b, p...)
	}
	if g.IntN(3) == 0 { // a field of a later version of the type
		b = protowire.AppendString(protowire.AppendTag(b, 1000, protowire.BytesType), "new")
	}
	return b, row
}

// columns returns the number of columns of a field's elements.
func (g *drawnProto) columns(f drawnField) int {
	if f.sub < 0 {
		if wire(f.kind) == protowire.BytesType {
			return 0
		}
		return 1
	}
	n := 0
	for _, in := range g.types[f.sub] {
		if !in.repeated {
			n += g.columns(in)
		}
	}
	return n
}

func TestAnyProtobufTypeDecodesToTheValuesThatWereWritten(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for seed := range uint64(10_000) {
		g := &drawnProto{Rand: rand.New(rand.NewPCG(2, seed))}
		d, err := New("protobuf", g.file(t), nil)
		require.NoError(t, err, "%d", seed)
		b, row := g.message(len(g.types)-1, true, false)
		var rows Rows
		require.NoError(t, d.Append(&rows, b), "%d", seed)
		shape := d.Shape()
		require.Len(t, shape.Columns, len(row), "%d", seed)
		require.Equal(t, fmt.Sprint(row), fmt.Sprint(values(rows.F64, rows.F32)), "%d: %v", seed, g.types)
		require.Len(t, shape.Lists, len(g.lists), "%d: %v", seed, g.types)
		for i, want := range g.lists {
			l := rows.Lists[i]
			require.Equal(t, []int32{int32(want.count)}, l.Lengths, "%d: %v", seed, g.types)
			require.Equal(t, fmt.Sprint(want.values), fmt.Sprint(values(l.F64, l.F32)), "%d: %v", seed, g.types)
		}
	}
}
