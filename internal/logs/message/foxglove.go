package message

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// foxgloveMedia maps schemas to images, video and clouds. See https://docs.foxglove.dev/docs/sdk/schemas.
var foxgloveMedia = map[string]Media{
	"foxglove.RawImage":        RawImage,
	"foxglove.CompressedImage": CompressedImage,
	"foxglove.CompressedVideo": VideoPacket,
	"foxglove.PointCloud":      PointCloud,
}

// foxglove is a decoded message with one of these schemas.
type foxglove struct {
	stamp         int64
	width, height uint32
	encoding      string // pixel encoding, or format of compressed data
	step          uint32 // bytes per row, or per point
	data          []byte
	fields        []packedField
	position      [3]float64 // of the cloud in its frame
	rotation      [4]float64 // w, x, y, z
}

// packedField is a field in a cloud's points.
type packedField struct {
	name   string
	offset uint32
	kind   int
}

// foxgloveScalars maps the numeric types in a packed field by number.
var foxgloveScalars = []records.Scalar{0, records.U8, records.I8, records.U16, records.I16, records.U32, records.I32, records.F32, records.F64}

// frame returns the message as a frame, or err if the message could not be read.
func (m *foxglove) frame(media Media, err error) (Frame, error) {
	if err != nil {
		return Frame{}, err
	}
	if media != RawImage {
		f := Frame{Encoding: strings.ToLower(m.encoding), Data: m.data, Stamp: m.stamp}
		if f.Encoding == "jpg" {
			f.Encoding = "jpeg"
		}
		return f, nil
	}
	return rawFrame("foxglove", m.encoding, m.width, m.height, m.step, false, m.data, m.stamp)
}

// cloud returns the message as a cloud, or err if the message could not be read.
func (m *foxglove) cloud(err error) (*dataset.Cloud, error) {
	if err != nil {
		return nil, err
	}
	broken := func(what, got, want string) error {
		return &dataset.FormatError{Format: "foxglove", Offset: -1, Kind: dataset.ErrCorrupt, Msg: what, Got: got, Want: want}
	}
	if m.step == 0 && len(m.data) > 0 {
		return nil, broken("point_stride", "0", "the bytes of a point")
	}
	n, stride := 0, int64(m.step)
	if stride > 0 {
		n = int(int64(len(m.data)) / stride)
		if int64(n)*stride != int64(len(m.data)) {
			return nil, broken("data", fmt.Sprintf("%d bytes", len(m.data)), fmt.Sprintf("a multiple of point_stride, %d", stride))
		}
	}
	if len(m.fields) > records.MaxFields {
		return nil, broken("fields", fmt.Sprint(len(m.fields)), fmt.Sprintf("up to %d", records.MaxFields))
	}
	fields, used := make([]records.Field, len(m.fields)), int64(0)
	for i, f := range m.fields {
		if f.kind <= 0 || f.kind >= len(foxgloveScalars) {
			return nil, broken("type of field "+f.name, fmt.Sprint(f.kind), "1 to 8")
		}
		fields[i] = records.Field{Name: f.name, Type: foxgloveScalars[f.kind].String(), Scalar: foxgloveScalars[f.kind]}
		if end := int64(f.offset) + int64(fields[i].Scalar.Size()); end > stride && n > 0 {
			return nil, broken("field "+f.name, fmt.Sprintf("bytes up to %d", end), fmt.Sprintf("within point_stride, %d", stride))
		}
		used += int64(fields[i].Scalar.Size())
	}
	if used > 4*stride && n > 0 { // so that a cloud takes memory only in proportion to its message
		return nil, broken("fields", fmt.Sprintf("%d bytes, which lie over each other", used), fmt.Sprintf("those of a point, %d", stride))
	}
	set, err := records.NewSet(fields, n)
	if err != nil {
		return nil, &dataset.FormatError{Format: "foxglove", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "fields of a cloud", Err: err}
	}
	if n > 0 {
		for i, f := range m.fields {
			set.Fill(i, m.data, int(f.offset), int(stride), binary.LittleEndian)
		}
	}
	c, err := set.Cloud()
	if err != nil {
		return nil, err
	}
	c.Viewpoint = dataset.Identity
	c.Viewpoint.Position = m.position
	if m.rotation != [4]float64{} {
		c.Viewpoint.Orientation = m.rotation
	}
	return c, nil
}

// protoMedia has the field numbers. The schema gives them by name.
type protoMedia struct {
	stamp, frame, width, height, encoding, step, data, fields, pose protowire.Number
	name, offset, kind                                              protowire.Number // in a packed field
	position, orientation                                           protowire.Number // in a pose
}

func newProtoMedia(of protoreflect.MessageDescriptor) *protoMedia {
	number := func(of protoreflect.MessageDescriptor, names ...protoreflect.Name) protowire.Number {
		for _, name := range names {
			if f := of.Fields().ByName(name); f != nil {
				return f.Number()
			}
		}
		return 0
	}
	inner := func(n protowire.Number) protoreflect.MessageDescriptor {
		if f := of.Fields().ByNumber(n); f != nil {
			return f.Message()
		}
		return nil
	}
	m := &protoMedia{stamp: number(of, "timestamp"), frame: number(of, "frame_id"), width: number(of, "width"), height: number(of, "height"), encoding: number(of, "encoding", "format"),
		step: number(of, "step", "point_stride"), data: number(of, "data"), fields: number(of, "fields"), pose: number(of, "pose")}
	if in := inner(m.fields); in != nil {
		m.name, m.offset, m.kind = number(in, "name"), number(in, "offset"), number(in, "type")
	}
	if in := inner(m.pose); in != nil {
		m.position, m.orientation = number(in, "position"), number(in, "orientation")
	}
	return m
}

// Header returns the frame of an image, a packet or a cloud.
func (d *protoDecoder) Header(data []byte) (_ uint32, frame []byte) {
	if d.media != nil {
		_ = protoEach(data, 0, func(n protowire.Number, _ uint64, b []byte, _ int) error { // Append returns the error
			if n == d.media.frame {
				frame = b
			}
			return nil
		})
	}
	return 0, frame
}

// Frame decodes an image or a packet.
func (d *protoDecoder) Frame(data []byte) (Frame, error) {
	m, err := d.foxglove(data)
	return m.frame(d.shape.Media, err)
}

// Cloud decodes a cloud.
func (d *protoDecoder) Cloud(data []byte) (*dataset.Cloud, error) {
	m, err := d.foxglove(data)
	return m.cloud(err)
}

func (d *protoDecoder) foxglove(data []byte) (m *foxglove, err error) {
	if d.media == nil {
		return nil, protoError(-1, dataset.ErrUnsupported, "frame", d.shape.Type, "a message that is an image or a cloud")
	}
	m, by := &foxglove{}, d.media
	err = protoEach(data, 0, func(n protowire.Number, v uint64, b []byte, at int) error {
		switch n {
		case by.stamp:
			m.stamp, err = protoTime(b, at)
			return err
		case by.width:
			m.width = uint32(v)
		case by.height:
			m.height = uint32(v)
		case by.encoding:
			m.encoding = string(b)
		case by.step:
			m.step = uint32(v)
		case by.data:
			m.data = b
		case by.fields:
			f := packedField{}
			err := protoEach(b, at, func(n protowire.Number, v uint64, b []byte, _ int) error {
				switch n {
				case by.name:
					f.name = string(b)
				case by.offset:
					f.offset = uint32(v)
				case by.kind:
					f.kind = int(int32(v))
				}
				return nil
			})
			m.fields = append(m.fields, f)
			return err
		case by.pose:
			return m.protoPose(by, b, at)
		}
		return nil
	})
	return m, err
}

// protoPose decodes a pose: a vector x, y, z, and a quaternion x, y, z, w.
func (m *foxglove) protoPose(by *protoMedia, data []byte, at int) error {
	return protoEach(data, at, func(n protowire.Number, _ uint64, b []byte, at int) error {
		if n != by.position && n != by.orientation {
			return nil
		}
		var v [5]float64
		if err := protoEach(b, at, func(n protowire.Number, bits uint64, _ []byte, _ int) error {
			if n < 5 {
				v[n] = math.Float64frombits(bits)
			}
			return nil
		}); err != nil {
			return err
		}
		if n == by.position {
			m.position = [3]float64{v[1], v[2], v[3]}
		} else {
			m.rotation = [4]float64{v[4], v[1], v[2], v[3]}
		}
		return nil
	})
}

// protoEach calls use for each field in a message. v is a number, and b holds bytes that begin at at.
func protoEach(data []byte, at int, use func(n protowire.Number, v uint64, b []byte, at int) error) error {
	for len(data) > 0 {
		n, wire, k := protowire.ConsumeTag(data)
		if k < 0 {
			return protoError(at, dataset.ErrCorrupt, "tag", protowire.ParseError(k).Error(), "a field's number and type")
		}
		var v uint64
		var b []byte
		size := 0
		switch wire {
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(data[k:])
		case protowire.Fixed32Type:
			var low uint32
			low, size = protowire.ConsumeFixed32(data[k:])
			v = uint64(low)
		case protowire.Fixed64Type:
			v, size = protowire.ConsumeFixed64(data[k:])
		case protowire.BytesType:
			b, size = protowire.ConsumeBytes(data[k:])
		default:
			size = protowire.ConsumeFieldValue(n, wire, data[k:])
		}
		if size < 0 {
			return (*protoMessage)(nil).broken(nil, n, at+k, size)
		}
		if err := use(n, v, b, at+k+size-len(b)); err != nil {
			return err
		}
		data, at = data[k+size:], at+k+size
	}
	return nil
}
