package mcap

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/tensor"
)

// images is a media stream while its messages are written.
type images struct {
	media    *dataset.Media
	encoding Encoding
	name     string // of foxglove's message
	format   string // of the written frames
	step     int    // bytes of a row, of raw images
	schema   schemaText
}

func newImages(m *dataset.Media, encoding Encoding) (*images, error) {
	v := &images{media: m, encoding: encoding, format: m.Encoding}
	bad := func(got, want string) error {
		return &Error{"media " + m.Name, dataset.ErrOption, got, want}
	}
	switch m.Encoding {
	case "jpeg", "png", "webp", "avif":
		v.name = "CompressedImage"
	case "h264", "h265", "hevc", "vp9", "av1":
		if v.name = "CompressedVideo"; m.Encoding == "hevc" {
			v.format = "h265"
		}
		_, decodes := m.Source.(dataset.FrameDecoder)
		if _, packets := m.Source.(*video.Frames); decodes && !packets {
			return nil, bad(m.Encoding+" as a video file has it, without what a decoder needs to begin", "images, raw pixels, or packets as of a recording's messages")
		}
	default:
		if m.Encoding == floatsInPNG {
			v.format = "32FC1"
		}
		size, _ := message.Pixel(v.format)
		if size == 0 {
			return nil, bad(fmt.Sprintf("encoding %q", m.Encoding), "jpeg, png, webp, avif, h264, h265, vp9, av1, or raw pixels of a known size, such as rgb8, mono16 or 32FC1")
		}
		if m.Width <= 0 || m.Height <= 0 || m.Width > math.MaxInt32/size {
			return nil, bad(fmt.Sprintf("%dx%d pixels", m.Width, m.Height), "the size of its frames")
		}
		v.name, v.step = "RawImage", size*m.Width
	}
	v.schema = foxgloveSchema(v.name, encoding)
	return v, nil
}

func (v *images) encode(ctx context.Context, b []byte, i int) ([]byte, error) {
	m := v.media
	data, err := m.Frame(ctx, i)
	if err != nil {
		return nil, err
	}
	if m.Encoding == floatsInPNG {
		if data, err = floats(data); err != nil {
			return nil, err
		}
	}
	if want := v.step * m.Height; v.name == "RawImage" && len(data) != want {
		return nil, &Error{fmt.Sprintf("frame %d of media %s", i, m.Name), dataset.ErrOption, fmt.Sprintf("%d bytes", len(data)), fmt.Sprintf("%d, for %dx%d pixels of %s", want, m.Width, m.Height, v.format)}
	}
	if v.encoding == JSON {
		b = appendJSONStamp(append(b, '{'), m.Times[i], "")
		if v.name == "RawImage" {
			b = fmt.Appendf(b, `,"width":%d,"height":%d,"encoding":%q,"step":%d,"data":"`, m.Width, m.Height, v.format, v.step)
		} else {
			b = fmt.Appendf(b, `,"format":%q,"data":"`, v.format)
		}
		return append(base64.StdEncoding.AppendEncode(b, data), `"}`...), nil
	}
	b = appendStamp(b, m.Times[i])
	switch v.name {
	case "CompressedImage":
		b = appendProtoText(appendProtoText(b, 2, data), 3, v.format)
	case "CompressedVideo":
		b = appendProtoText(appendProtoText(b, 3, data), 4, v.format)
	default:
		b = appendFixed32(appendFixed32(b, 2, m.Width), 3, m.Height)
		b = appendFixed32(appendProtoText(b, 4, v.format), 5, v.step)
		b = appendProtoText(b, 6, data)
	}
	return b, nil
}

// floatsInPNG is the encoding of RLDS for depth: the bytes of a float32 are the colours and the alpha of a pixel.
const floatsInPNG = "png-f32"

// floats returns the pixels of such an image as 32FC1.
func floats(data []byte) ([]byte, error) {
	p, err := png.Decode(bytes.NewReader(data))
	pixels, is := p.(*image.NRGBA)
	if err != nil || !is {
		return nil, &dataset.FormatError{Format: "mcap", Offset: -1, Kind: dataset.ErrCorrupt, Msg: "image of float32", Got: fmt.Sprintf("%T", p), Want: "a PNG with 4 channels", Err: err}
	}
	return pixels.Pix, nil
}

// appendStamp appends field 1, a google.protobuf.Timestamp.
func appendStamp(b []byte, ns int64) []byte {
	var room [24]byte
	in := protowire.AppendVarint(protowire.AppendTag(room[:0], 1, protowire.VarintType), uint64(ns/1e9))
	in = protowire.AppendVarint(protowire.AppendTag(in, 2, protowire.VarintType), uint64(ns%1e9))
	return appendProtoText(b, 1, in)
}

func appendJSONTime(b []byte, ns int64) []byte {
	return fmt.Appendf(b, `"timestamp":{"sec":%d,"nsec":%d}`, ns/1e9, ns%1e9)
}

func appendJSONStamp(b []byte, ns int64, frame string) []byte {
	return fmt.Appendf(appendJSONTime(b, ns), `,"frame_id":%q`, frame)
}

func appendProtoText[T string | []byte](b []byte, n protowire.Number, data T) []byte {
	b = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.BytesType), uint64(len(data)))
	return append(b, data...)
}

func appendFixed32(b []byte, n protowire.Number, v int) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(b, n, protowire.Fixed32Type), uint32(v))
}

func appendDoubles(b []byte, values ...float64) []byte {
	for i, v := range values {
		b = protowire.AppendFixed64(protowire.AppendTag(b, protowire.Number(i+1), protowire.Fixed64Type), math.Float64bits(v))
	}
	return b
}

// clouds is a series of clouds while its messages are written.
type clouds struct {
	stream   *dataset.CloudStream
	encoding Encoding
}

// encode writes a cloud's points as x, y and z, and its features after them.
func (c *clouds) encode(ctx context.Context, b []byte, i int) ([]byte, error) {
	cloud, err := c.stream.Cloud(ctx, i)
	if err != nil {
		return nil, err
	}
	if err := cloud.Check(); err != nil {
		return nil, err
	}
	points, pointSize, err := packedBytes(cloud.Points)
	if err != nil {
		return nil, err
	}
	features, featureSize, err := packedBytes(cloud.Features)
	if err != nil {
		return nil, err
	}
	n, f := cloud.Len(), len(cloud.Columns)
	stride := 3*pointSize + f*featureSize
	data := make([]byte, 0, n*stride)
	for i := range n {
		data = append(data, points[i*3*pointSize:(i+1)*3*pointSize]...)
		data = append(data, features[i*f*featureSize:(i+1)*f*featureSize]...)
	}
	type packedField struct {
		name         string
		offset, kind int
	}
	fields := make([]packedField, 3+f)
	for k := range fields {
		if k < 3 {
			fields[k] = packedField{[]string{"x", "y", "z"}[k], k * pointSize, floatType(pointSize)}
		} else {
			fields[k] = packedField{cloud.Columns[k-3].Name, 3*pointSize + (k-3)*featureSize, floatType(featureSize)}
		}
	}
	p, q := cloud.Viewpoint.Position, cloud.Viewpoint.Orientation // w first
	if c.encoding == JSON {
		b = appendJSONStamp(append(b, '{'), c.stream.Times[i], world)
		b = append(b, `,"pose":{"position":`...)
		b = appendVector(b, p[:]...)
		b = append(b, `,"orientation":`...)
		b = appendVector(b, q[1], q[2], q[3], q[0])
		b = fmt.Appendf(b, `},"point_stride":%d,"fields":[`, stride)
		for k, f := range fields {
			if k > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `{"name":%s,"offset":%d,"type":%d}`, quoted(f.name), f.offset, f.kind)
		}
		return append(base64.StdEncoding.AppendEncode(append(b, `],"data":"`...), data), `"}`...), nil
	}
	b = appendStamp(b, c.stream.Times[i])
	pose := appendProtoText(nil, 1, appendDoubles(nil, p[:]...))
	pose = appendProtoText(pose, 2, appendDoubles(nil, q[1], q[2], q[3], q[0]))
	b = appendFixed32(appendProtoText(appendProtoText(b, 2, world), 3, pose), 4, stride)
	for _, f := range fields {
		in := appendFixed32(appendProtoText(nil, 1, f.name), 2, f.offset)
		b = appendProtoText(b, 5, protowire.AppendVarint(protowire.AppendTag(in, 3, protowire.VarintType), uint64(f.kind)))
	}
	return appendProtoText(b, 6, data), nil
}

// appendVector appends an object with up to four numbers: x, y, z and w.
func appendVector(b []byte, values ...float64) []byte {
	for i, v := range values {
		b = appendNumber(append(b, []string{`{"x":`, `,"y":`, `,"z":`, `,"w":`}[i]...), v)
	}
	return append(b, '}')
}

// floatType is the number of FLOAT32 or FLOAT64 among the numericTypes.
func floatType(size int) int {
	return slices.Index(numericTypes, fmt.Sprintf("FLOAT%d", 8*size))
}

// packedBytes returns a tensor's numbers as little-endian bytes, and how many bytes each has.
func packedBytes(t *tensor.Tensor) (b []byte, size int, err error) {
	if t.DType() == tensor.F64 {
		data, err := tensor.Packed[float64](t)
		b, _ = binary.Append(nil, le, data) // numbers never fail
		return b, 8, err
	}
	data, err := tensor.Packed[float32](t)
	b, _ = binary.Append(nil, le, data)
	return b, 4, err
}
