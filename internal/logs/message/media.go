package message

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/records"
)

// media describes an image or cloud type.
type media struct {
	kind   Media
	fields map[string]Kind // required fields besides the header; for arrays, the elements' kind
}

var mediaTypes = map[string]*media{
	"sensor_msgs/Image": {RawImage, map[string]Kind{"height": Uint32, "width": Uint32, "encoding": String, "is_bigendian": Uint8, "step": Uint32,
		"data": Uint8}},
	"sensor_msgs/CompressedImage": {CompressedImage, map[string]Kind{"format": String, "data": Uint8}},
	"sensor_msgs/PointCloud2": {PointCloud, map[string]Kind{"height": Uint32, "width": Uint32, "fields": Struct, "is_bigendian": Bool, "point_step": Uint32,
		"row_step": Uint32, "data": Uint8}},
	"foxglove_msgs/RawImage":        {RawImage, map[string]Kind{"height": Uint32, "width": Uint32, "encoding": String, "step": Uint32, "data": Uint8}},
	"foxglove_msgs/CompressedImage": {CompressedImage, map[string]Kind{"format": String, "data": Uint8}},
	"foxglove_msgs/CompressedVideo": {VideoPacket, map[string]Kind{"format": String, "data": Uint8}},
}

var pointField = map[string]Kind{"name": String, "offset": Uint32, "datatype": Uint8, "count": Uint32}

func (m *media) what() Media {
	if m == nil {
		return NoMedia
	}
	return m.kind
}

// mediaOf returns a type's media. It is nil if the type is not an image or cloud, or lacks required fields.
func mediaOf(t *Type) *media {
	m := mediaTypes[t.Name]
	if m == nil || !hasFields(t, m.fields) {
		return nil
	}
	return m
}

func hasFields(t *Type, want map[string]Kind) bool {
	found := 0
	for i := range t.Fields {
		f := &t.Fields[i]
		kind, ok := want[f.Name]
		if !ok {
			continue
		}
		array := One
		if f.Name == "data" || f.Name == "fields" {
			array = Sequence
		}
		if f.Kind != kind || f.Array != array || kind == Struct && !hasFields(f.Type, pointField) {
			return false
		}
		found++
	}
	return found == len(want)
}

// whole holds a message's values by field name. data aliases the message. Unused fields are left out.
type whole struct {
	r      reader
	p      *program
	name   string // the message type
	number map[string]uint32
	text   map[string]string
	data   []byte
	dataAt int
	points []pointOf
	stamp  int64
}

// pointOf is a sensor_msgs/PointField.
type pointOf struct {
	name                    string
	offset, datatype, count uint32
}

// maxFields limits the fields in a cloud's message.
const maxFields = records.MaxFields

// read reads a message. Its media must be in want.
func (d *ros) read(data []byte, want ...Media) (*whole, error) {
	if !slices.Contains(want, d.media.what()) {
		return nil, bad(d.format, 0, dataset.ErrUnsupported, "message", d.typ.Name, "an image, a video's packet or a cloud")
	}
	return d.whole(data)
}

// whole reads the fields of a message that its media type needs. If the message does not match its type, it returns an error.
func (d *ros) whole(data []byte) (*whole, error) {
	var r reader
	p, err := d.open(&r, data)
	if err != nil {
		return nil, err
	}
	w := &whole{r: r, p: p, name: d.typ.Name, number: map[string]uint32{}, text: map[string]string{}}
	w.r.rows, w.r.shape, w.r.surplus = &Rows{}, &Shape{}, d.surplus
	for i := range d.typ.Fields {
		if f := &d.typ.Fields[i]; !w.field(f) {
			return nil, w.r.bad
		}
	}
	if !w.r.end() {
		return nil, w.r.bad
	}
	w.stamp = w.r.stamped
	return w, nil
}

// field reads one field, and keeps its value if it is needed.
func (w *whole) field(f *Field) bool {
	r, align := &w.r, w.p.align
	switch {
	case f.Kind == Uint32 && f.Array == One:
		v, ok := r.word(align, f.Name)
		w.number[f.Name] = v
		return ok
	case (f.Kind == Uint8 || f.Kind == Bool) && f.Array == One:
		b, ok := r.take(1, 1, f.Name)
		if ok {
			w.number[f.Name] = uint32(b[0])
		}
		return ok
	case f.Kind == String && f.Array == One:
		n, ok := r.length(align, 1, "length of "+f.Name)
		if !ok {
			return false
		}
		w.text[f.Name] = r.clean(r.data[r.pos : r.pos+n])
		r.pos += n
		return true
	case f.Kind == Uint8 && f.Array == Sequence:
		n, ok := r.length(align, 1, "length of "+f.Name)
		if ok && f.Name == "data" {
			w.data, w.dataAt = r.data[r.pos:r.pos+n], r.pos+r.before
		}
		r.pos += n
		return ok
	case f.Name == "fields" && f.Array == Sequence && f.Kind == Struct:
		return w.pointFields(f.Type)
	}
	// Other fields are skipped by the same steps as in Append.
	skip := &flattener{shape: &Shape{}, top: true, widths: map[*Type]int{}}
	p := &program{rules: w.p.rules}
	p.ops = p.compile(skip.fields(&Type{Name: w.name, Fields: []Field{*f}}, "", ""))
	return r.exec(p, p.ops, &sink{})
}

func (w *whole) pointFields(t *Type) bool {
	if w.p.boxes {
		if _, ok := w.r.word(w.p.align, "size of fields"); !ok {
			return false
		}
	}
	n, ok := w.r.length(w.p.align, 13, "number of fields")
	if !ok {
		return false
	}
	if n > maxFields {
		return w.r.fail(dataset.ErrTooLarge, "number of fields", strconv.Itoa(n), fmt.Sprintf("at most %d", maxFields))
	}
	for range n {
		e := &whole{r: w.r, p: w.p, number: map[string]uint32{}, text: map[string]string{}}
		for i := range t.Fields {
			if !e.field(&t.Fields[i]) {
				w.r.bad = e.r.bad
				return false
			}
		}
		w.r.pos = e.r.pos
		w.points = append(w.points, pointOf{e.text["name"], e.number["offset"], e.number["datatype"], e.number["count"]})
	}
	return true
}

// fail returns an error for a complete message with impossible values.
func (w *whole) fail(kind error, msg, got, want string) error {
	return &dataset.FormatError{Format: w.r.format, Offset: int64(w.dataAt), Kind: kind, Msg: msg, Got: got, Want: want}
}

// Frame decodes an image or a packet.
func (d *ros) Frame(data []byte) (Frame, error) {
	w, err := d.read(data, RawImage, CompressedImage, VideoPacket)
	if err != nil {
		return Frame{}, err
	}
	if d.media.kind == RawImage {
		n := w.number
		f, err := rawFrame(d.format, w.text["encoding"], n["width"], n["height"], n["step"], n["is_bigendian"] != 0, w.data, w.stamp)
		f.Surplus = w.r.rows.Surplus.Bytes
		return f, err
	}
	f := Frame{Stamp: w.stamp, Surplus: w.r.rows.Surplus.Bytes}
	f.Encoding, f.Data = compressed(w.text["format"], w.data)
	return f, nil
}

// Pixel returns the bytes per pixel and per number in a pixel, for an encoding of raw images in ROS or foxglove. Both are 0 if the
// encoding is unknown.
func Pixel(encoding string) (bytes, word int) {
	switch encoding {
	case "mono8":
		return 1, 1
	case "mono16":
		return 2, 2
	case "yuv422", "yuv422_yuy2", "uyvy", "yuyv", "UYVY", "YUYV":
		return 2, 1
	}
	if rest, ok := strings.CutPrefix(encoding, "bayer_"); ok {
		for bits, n := range map[string]int{"8": 1, "16": 2} {
			if order, ok := strings.CutSuffix(rest, bits); ok && len(order) == 4 {
				return n, n
			}
		}
		return 0, 0
	}
	for name, n := range map[string]int{"rgb": 3, "bgr": 3, "rgba": 4, "bgra": 4} {
		switch encoding {
		case name + "8":
			return n, 1
		case name + "16":
			return 2 * n, 2
		}
	}
	bits, channels, ok := strings.Cut(encoding, "C") // 16UC1, 32FC, 8UC(12)
	if !ok || len(bits) < 2 || !strings.ContainsRune("USF", rune(bits[len(bits)-1])) {
		return 0, 0
	}
	n, c := 0, 1
	n, err := strconv.Atoi(bits[:len(bits)-1])
	if channels = strings.Trim(channels, "()"); err == nil && channels != "" {
		c, err = strconv.Atoi(channels)
	}
	if err != nil || n != 8 && n != 16 && n != 32 && n != 64 || c < 1 || c > 512 {
		return 0, 0
	}
	return n / 8 * c, n / 8
}

// rawFrame creates a frame from pixel rows with step bytes each. It removes padding and converts to little-endian. If the encoding is
// unknown, the bytes stay unchanged.
func rawFrame(format, encoding string, width, height, step uint32, big bool, data []byte, stamp int64) (Frame, error) {
	f := Frame{Encoding: encoding, Width: int(width), Height: int(height), Data: data, Stamp: stamp}
	each, word := Pixel(encoding)
	if each == 0 {
		return f, nil
	}
	row, rows := int(width)*each, int(height)
	if width > math.MaxInt32/4096 || height > math.MaxInt32 || row > int(step) || uint64(height)*uint64(step) > uint64(len(data)) {
		return Frame{}, &dataset.FormatError{Format: format, Offset: -1, Kind: dataset.ErrCorrupt, Msg: "image",
			Got: fmt.Sprintf("%d bytes, in rows of %d", len(data), step), Want: fmt.Sprintf("%d x %d pixels of %s", width, height, encoding)}
	}
	f.Data = data[:rows*int(step)]
	if row < int(step) {
		f.Data = make([]byte, 0, row*rows)
		for y := range rows {
			f.Data = append(f.Data, data[y*int(step):][:row]...)
		}
	}
	if word > 1 && big {
		f.Data = slices.Clone(f.Data)
		for at := 0; at < len(f.Data); at += word {
			slices.Reverse(f.Data[at : at+word])
		}
	}
	return f, nil
}

var pngMagic = []byte("\x89PNG\r\n\x1a\n")

// compressed returns an image's encoding and its bytes. The encoding comes from the first bytes, or else from the message's format, such as
// "bgr8; jpeg compressed bgr8". For a depth image in PNG, the bytes are without the header of 12 bytes before the PNG.
func compressed(format string, data []byte) (encoding string, packed []byte) {
	format = strings.ToLower(format)
	depth := strings.Contains(format, "compresseddepth")
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xd8, 0xff}):
		return "jpeg", data
	case bytes.HasPrefix(data, pngMagic):
		return "png", data
	case depth && !strings.HasPrefix(format, "32fc1") && len(data) > 12 && bytes.HasPrefix(data[12:], pngMagic):
		return "png", data[12:] // skip a header that only matters for floats
	case depth:
		return "compresseddepth", data
	}
	for _, name := range []string{"jpeg", "jpg", "png", "webp", "tiff", "bmp", "h264", "h265", "hevc", "av1", "vp9"} {
		if strings.Contains(format, name) {
			return map[bool]string{true: "jpeg", false: name}[name == "jpg"], data
		}
	}
	return strings.TrimSpace(format), data
}

var pointKinds = [...]records.Scalar{1: records.I8, 2: records.U8, 3: records.I16, 4: records.U16, 5: records.I32, 6: records.U32, 7: records.F32, 8: records.F64}

// Cloud decodes a cloud.
func (d *ros) Cloud(data []byte) (*dataset.Cloud, error) {
	w, err := d.read(data, PointCloud)
	if err != nil {
		return nil, err
	}
	width, height := int64(w.number["width"]), int64(w.number["height"])
	step, row := int64(w.number["point_step"]), int64(w.number["row_step"])
	var fields []records.Field
	var offsets []int64
	used := int64(0)
	for _, f := range w.points {
		if int(f.datatype) >= len(pointKinds) || f.datatype == 0 {
			return nil, w.fail(dataset.ErrUnsupported, "field "+strconv.Quote(clip(f.name)), fmt.Sprintf("datatype %d", f.datatype), "1 to 8")
		}
		kind, count := pointKinds[f.datatype], int64(max(f.count, 1)) // older PCL versions write 0
		size := count * int64(kind.Size())
		used += size
		if int64(f.offset)+size > step || used > 4*step {
			return nil, w.fail(dataset.ErrCorrupt, "field "+strconv.Quote(clip(f.name)), fmt.Sprintf("%d numbers of %s at byte %d", count, kind, f.offset),
				fmt.Sprintf("points of %d bytes", step))
		}
		if int64(len(fields))+count > maxFields {
			return nil, w.fail(dataset.ErrTooLarge, "fields", "more numbers a point", fmt.Sprintf("at most %d", maxFields))
		}
		field := records.Field{Name: f.name, Type: kind.String(), Scalar: kind}
		if count == 1 {
			field.Pack()
		}
		for i := range count {
			if count > 1 {
				field.Name = fmt.Sprintf("%s[%d]", f.name, i)
			}
			fields, offsets = append(fields, field), append(offsets, int64(f.offset)+i*int64(kind.Size()))
		}
	}
	n := width * height
	if height == 1 {
		row = width * step // row_step is ignored
	}
	switch {
	case width > math.MaxInt32 || height > math.MaxInt32 || n > 0 && (step == 0 || row < width*step || row > int64(len(w.data))/height):
		return nil, w.fail(dataset.ErrCorrupt, "cloud", fmt.Sprintf("%d bytes, of rows of %d", len(w.data), row),
			fmt.Sprintf("%d x %d points of %d bytes", width, height, step))
	case n == 0:
		width, height = 0, 1
	}
	set, err := records.NewSet(fields, int(n))
	if records.NoRoom(err) {
		return nil, err
	}
	if err != nil {
		return nil, w.fail(dataset.ErrUnsupported, "fields", err.Error(), "x, y and z, and each field once")
	}
	points := w.data
	if n > 0 && row > width*step { // rows are padded
		points = make([]byte, 0, n*step)
		for y := range height {
			points = append(points, w.data[y*row:][:width*step]...)
		}
	}
	var order binary.ByteOrder = binary.LittleEndian
	if w.number["is_bigendian"] != 0 {
		order = binary.BigEndian
	}
	for i := range fields {
		set.Fill(i, points, int(offsets[i]), int(step), order)
	}
	cloud, err := set.Cloud()
	if err != nil {
		return nil, w.fail(dataset.ErrCorrupt, "cloud", err.Error(), "points")
	}
	cloud.Width, cloud.Height = int(width), int(height)
	return cloud, nil
}
