package message

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/robocache/robocache/dataset"
)

// New returns the decoder for a channel. encoding is its message encoding: "cdr", "ros1", "protobuf" or "json". schema has a name, an
// encoding ("ros2msg", "ros2idl", "ros1msg", "protobuf", "jsonschema" or "") and data. If the schema lacks a ROS type, lookup returns
// its definition by full name, such as "geometry_msgs/Twist": the text of a .msg or .idl file, or "" if there is none. lookup may be
// nil. If the channel cannot be decoded, the error is a *dataset.FormatError.
func New(encoding string, schema Schema, lookup func(name string) string) (Decoder, error) {
	takes := map[string][]string{"cdr": {"ros2msg", "ros2idl", "omgidl", ""}, "ros1": {"ros1msg", ""}}[encoding]
	switch {
	case encoding == "protobuf":
		return newProto(schema)
	case encoding == "json":
		return newJSON(schema)
	case takes == nil:
		return nil, bad("message", 0, dataset.ErrUnsupported, "message encoding", fmt.Sprintf("%q", encoding), "cdr, ros1, protobuf or json")
	case !slices.Contains(takes, schema.Encoding):
		return nil, bad("message", 0, dataset.ErrUnsupported, "schema encoding of "+encoding, fmt.Sprintf("%q", schema.Encoding),
			strings.Join(takes[:len(takes)-1], ", "))
	}
	return newROS(encoding == "ros1", schema, lookup)
}

// ros decodes CDR and ROS 1 messages.
type ros struct {
	format string // the message encoding
	typ    *Type
	shape  *Shape
	labels int
	keyed  bool     // whether the message or one of its lists is keyed
	first  *program // for ROS 1 or XCDR1
	second func() *program
	media  *media // for images and clouds
	header *Type  // the first field's type, if it is a std_msgs/Header
	// empty is set if the type has no definition. Its messages must then have no fields.
	empty bool
	// surplus is set if bytes may follow a message. ROS 1 ignores them, and a ROS 1 bag contains its types' definitions. In CDR they
	// show a wrong definition, such as one from another distribution.
	surplus bool
}

func newROS(ros1 bool, schema Schema, lookup func(string) string) (Decoder, error) {
	t, err := parse(schema, ros1, lookup)
	if err != nil {
		return nil, err
	}
	d := &ros{format: "cdr", typ: t, surplus: ros1 && len(schema.Data) > 0}
	if t == nil {
		d.typ, d.empty = &Type{Name: shortName(schema.Name)}, true
	}
	d.media = mediaOf(d.typ)
	if len(d.typ.Fields) > 0 {
		if h := &d.typ.Fields[0]; h.Array == One && h.Kind == Struct && h.Type.Name == "std_msgs/Header" && header(h.Type) != nil {
			d.header = h.Type
		}
	}
	shape, flat, nodes, err := flatten(d.typ, d.media.what())
	if err != nil {
		return nil, err
	}
	shape.Type = schema.Name
	shape.padScans()
	d.shape, d.labels, d.keyed = shape, flat.labels, shape.Keyed || slices.ContainsFunc(shape.Lists, func(l ListShape) bool { return l.Keyed })
	if ros1 {
		d.format, d.first = "ros1", compile(nodes, ros1Rules)
	} else {
		d.first = compile(nodes, xcdr1Rules)
		d.second = sync.OnceValue(func() *program { return compile(nodes, xcdr2Rules) })
	}
	return d, nil
}

// Shape returns the shape of the messages.
func (d *ros) Shape() *Shape { return d.shape }

// encapsulations names the CDR variants by a message's second byte.
var encapsulations = []string{"XCDR1, big-endian", "XCDR1", "PL_CDR, big-endian", "PL_CDR", "", "", "XCDR2, big-endian", "XCDR2",
	"D_CDR2, big-endian", "D_CDR2", "PL_CDR2, big-endian", "PL_CDR2"}

// open returns the program for a message's encoding, and sets the reader's byte order and position. An unsupported encoding is an error.
func (d *ros) open(r *reader, data []byte) (*program, error) {
	r.format, r.data, r.shape, r.unit, r.child, r.parent, r.keyed = d.format, data, d.shape, 4, -1, -1, d.keyed
	if d.format == "ros1" {
		return d.first, nil
	}
	if len(data) < 4 {
		r.short("encapsulation", 4)
		return nil, r.bad
	}
	kind := int(data[1])
	if data[0] != 0 || kind >= len(encapsulations) || encapsulations[kind] == "" {
		r.fail(dataset.ErrCorrupt, "encapsulation", fmt.Sprintf("%02x %02x", data[0], data[1]), "that of CDR")
		return nil, r.bad
	}
	r.data, r.before, r.big, r.nul = data[4:], 4, kind%2 == 0, true
	switch kind {
	case 0, 1:
		return d.first, nil
	case 6, 7:
		r.unit = 2 // because Fast CDR 1 does not write XCDR2
		return d.second(), nil
	}
	r.fail(dataset.ErrUnsupported, "encapsulation", encapsulations[kind], "XCDR1, or XCDR2 of final types")
	return nil, r.bad
}

// Header reads a message's header, without the stamp.
func (d *ros) Header(data []byte) (sequence uint32, frame []byte) {
	var r reader
	if d.header == nil && d.media != nil { // foxglove_msgs
		if w, err := d.whole(data); err == nil {
			frame = []byte(w.text["frame_id"])
		}
		return 0, frame
	}
	if _, err := d.open(&r, data); err != nil || d.header == nil {
		return 0, nil
	}
	for i := range d.header.Fields {
		switch d.header.Fields[i].Kind {
		case Uint32:
			sequence, _ = r.word(4, "seq")
		case String:
			if n, ok := r.length(4, 1, "frame_id"); ok {
				frame = bytes.TrimRight(r.data[r.pos:r.pos+n], "\x00")
				r.pos += n
			}
		default:
			r.take(8, 4, "stamp")
		}
	}
	return sequence, frame
}

// Append decodes a message.
func (d *ros) Append(rows *Rows, data []byte) error {
	var r reader
	p, err := d.open(&r, data)
	if err != nil {
		return err
	}
	d.prepare(rows)
	count, f32, f64 := rows.Count, len(rows.F32), len(rows.F64)
	r.rows, r.surplus = rows, d.surplus
	for {
		if columns := len(d.shape.Columns); columns > 0 && d.shape.Wide {
			rows.F64, r.table.f64 = grow(rows.F64, columns)
		} else if columns > 0 {
			rows.F32, r.table.f32 = grow(rows.F32, columns)
		}
		if r.exec(p, p.ops, &r.table) && r.end() {
			break
		}
		rows.F32, rows.F64 = rows.F32[:f32], rows.F64[:f64]
		for i := range rows.Lists {
			l, was := &rows.Lists[i], rows.saved[i]
			l.Lengths, l.F32, l.F64, l.Inexact = l.Lengths[:count], l.F32[:was.f32], l.F64[:was.f64], was.inexact
			l.Keys, l.Parents, l.Stamps = l.Keys[:was.keys], l.Parents[:was.keys], l.Stamps[:was.stamps]
		}
		if !p.wide || r.unit == 2 {
			if d.empty {
				r.bad.Kind, r.bad.Msg, r.bad.Want = dataset.ErrUnsupported, "message of a type without a definition", "a definition of "+d.typ.Name
			}
			return r.bad
		}
		// Fast CDR 1 writes four bytes per unit in a wstring; later versions and other implementations write two.
		r.pos, r.unit, r.table = 0, 2, sink{}
	}
	rows.Count++
	rows.Inexact += r.table.inexact
	if d.shape.Keyed {
		rows.Keys, rows.Parents = append(rows.Keys, r.child), append(rows.Parents, r.parent)
	}
	if d.shape.Stamp {
		rows.Stamps = append(rows.Stamps, r.stamped)
	}
	if len(rows.Lists) > 0 {
		d.commit(rows, &r)
	}
	return nil
}

// end checks that the message ends with its type's last field. CDR may have padding. Other bytes are counted if the reader allows a
// surplus.
func (r *reader) end() bool {
	rest := len(r.data) - r.pos
	if rest == 0 || r.nul && rest <= 3 {
		return true
	}
	if r.surplus {
		r.rows.Surplus.Add(rest)
		return true
	}
	return r.fail(dataset.ErrCorrupt, "end of the message", fmt.Sprintf("%d bytes more", rest), "none")
}

// prepare allocates rows' lists and saves their lengths.
func (d *ros) prepare(rows *Rows) {
	if rows.Count == 0 && d.keyed {
		rows.Frames, rows.frames = rows.Frames[:0], nil
	}
	if len(rows.spans) != d.labels { // labels may have an index although their list is left out
		rows.spans = make([]span, d.labels)
	}
	n := len(d.shape.Lists)
	if n == 0 {
		return
	}
	if len(rows.Lists) != n {
		rows.Lists = slices.Grow(rows.Lists[:0], n)[:n]
	}
	if len(rows.saved) != n {
		rows.saved = make([]listLengths, n)
	}
	for i := range rows.Lists {
		l := &rows.Lists[i]
		if rows.Count == 0 {
			l.reset()
		}
		rows.saved[i] = listLengths{len(l.F32), len(l.F64), len(l.Keys), len(l.Stamps), l.Inexact}
	}
}

// commit completes a valid message: it drops lists with different lengths, and matches names.
func (d *ros) commit(rows *Rows, r *reader) {
	for i := range rows.Lists {
		l, shape := &rows.Lists[i], &d.shape.Lists[i]
		n := l.Lengths[len(l.Lengths)-1]
		switch {
		case shape.named:
			l.name(shape, int(n), int(n), l.texts, func() []string { return splitTexts(l.texts, r.clean) })
		case shape.label >= 0:
			s := rows.spans[shape.label]
			l.name(shape, int(n), s.count, r.data[s.from:s.to], func() []string { return r.texts(s) })
		case !l.Dropped && !shape.Keyed && (shape.Padded && n > MaxList || !shape.Padded && n != l.Lengths[0] || shape.Bytes && n > maxBytes):
			l.Dropped, l.F32, l.F64 = true, nil, nil
		}
	}
}

// texts decodes an array of text at a span recorded earlier.
func (r *reader) texts(s span) []string {
	list, align, at := make([]string, s.count), 1, s.from
	if r.nul {
		align = 4
	}
	for i := range list {
		at = (at + align - 1) &^ (align - 1)
		n := int(r.order().Uint32(r.data[at:]))
		list[i] = r.clean(r.data[at+4 : at+4+n])
		at += 4 + n
	}
	return list
}

// clean returns a text without its final NUL.
func (r *reader) clean(b []byte) string {
	if r.nul {
		b, _, _ = bytes.Cut(b, []byte{0})
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
