package message

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/raw"
)

// sink receives numbers: in one of two slices, starting at `at`.
type sink struct {
	f32     []float32
	f64     []float64
	at      int
	inexact int
}

// reader reads a message.
type reader struct {
	format  string
	data    []byte // starts where alignment counts from
	before  int    // bytes that precede data
	pos     int
	big     bool
	nul     bool // whether text ends with a NUL, included in its length
	unit    int  // bytes per unit in a wstring
	shape   *Shape
	rows    *Rows
	stamped int64
	child   int32 // frame index for the current message or element; -1 if absent
	parent  int32
	keyed   bool      // whether frames must be recorded
	naming  *ListRows // if the current elements have names: their list
	muted   bool      // whether list values are skipped, because the lists are in one of several elements
	surplus bool      // whether bytes may follow the message
	table   sink
	bad     *dataset.FormatError
}

// span locates an array of text.
type span struct{ from, to, count int }

// listLengths holds the lengths of a list's slices.
type listLengths struct{ f32, f64, keys, stamps, inexact int }

func (r *reader) fail(kind error, msg, got, want string) bool {
	r.bad = &dataset.FormatError{Format: r.format, Offset: int64(r.pos + r.before), Kind: kind, Msg: msg, Got: got, Want: want}
	return false
}

// short is the error for a message that ends too early.
func (r *reader) short(what string, want int) bool {
	return r.fail(dataset.ErrTruncated, what, fmt.Sprintf("%d bytes", len(r.data)-r.pos), fmt.Sprintf("%d", want))
}

// take consumes n bytes, starting at the next multiple of align.
func (r *reader) take(n, align int, what string) ([]byte, bool) {
	at := (r.pos + align - 1) &^ (align - 1)
	if n < 0 || n > len(r.data)-at {
		return nil, r.short(what, n)
	}
	r.pos = at + n
	return r.data[at : at+n], true
}

func (r *reader) order() binary.ByteOrder {
	if r.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// word reads a 32-bit number.
func (r *reader) word(align int, what string) (uint32, bool) {
	b, ok := r.take(4, min(4, align), what)
	if !ok {
		return 0, false
	}
	if r.big {
		return binary.BigEndian.Uint32(b), true
	}
	return binary.LittleEndian.Uint32(b), true
}

// length reads an element count. The message must have enough bytes, if an element takes at least `each` bytes.
func (r *reader) length(align, each int, what string) (int, bool) {
	n, ok := r.word(align, what)
	if ok && uint64(n)*uint64(each) > uint64(len(r.data)-r.pos) {
		r.pos -= 4
		return 0, r.fail(dataset.ErrTruncated, what, fmt.Sprint(n), fmt.Sprintf("no more than %d bytes hold", len(r.data)-r.pos-4))
	}
	return int(n), ok
}

// exec runs a program's steps.
func (r *reader) exec(p *program, ops []op, out *sink) bool {
	for i := range ops {
		o := &ops[i]
		switch o.code {
		case opRun:
			if !r.run(o.run, out) {
				return false
			}
		case opText:
			n, ok := r.length(p.align, 1, "length of text")
			if !ok {
				return false
			}
			switch o.role {
			case childFrame:
				r.child = r.frame(n)
			case parentFrame:
				r.parent = r.frame(n)
			case elementName:
				r.naming.texts = addText(r.naming.texts, r.data[r.pos:r.pos+n])
			}
			r.pos += n
		case opWideText:
			n, ok := r.length(p.align, r.unit, "length of text")
			if !ok {
				return false
			}
			r.pos += n * r.unit
		case opStamp:
			b, ok := r.take(8, min(4, p.align), "header's stamp")
			if !ok {
				return false
			}
			r.stamped = r.time(b)
		case opLoop:
			if o.box {
				if _, ok := r.word(p.align, "size of an array"); !ok {
					return false
				}
			}
			for range o.n {
				if !r.exec(p, o.body, out) {
					return false
				}
			}
		case opSequence:
			if !r.sequence(p, o) {
				return false
			}
		}
	}
	return true
}

// frame returns the index of the frame named by the next n bytes, -1 if frames are not recorded.
func (r *reader) frame(n int) int32 {
	if !r.keyed {
		return -1
	}
	name := r.data[r.pos : r.pos+n]
	if r.nul && n > 0 && name[n-1] == 0 {
		name = name[:n-1]
	}
	return r.rows.frame(name, r.clean)
}

// elements reads the elements of a keyed list.
func (r *reader) elements(p *program, o *op, n int, out *sink) bool {
	list, stamped, child, parent := &r.rows.Lists[o.list], r.stamped, r.child, r.parent
	for range n {
		r.stamped, r.child, r.parent = 0, -1, -1
		if !r.exec(p, o.body, out) {
			return false
		}
		list.Keys, list.Parents = append(list.Keys, r.child), append(list.Parents, r.parent)
		if r.shape.Lists[o.list].Stamp {
			list.Stamps = append(list.Stamps, r.stamped)
		}
	}
	r.stamped, r.child, r.parent = stamped, child, parent
	return true
}

// time decodes a header's stamp. In ROS 1, the seconds are unsigned.
func (r *reader) time(b []byte) int64 {
	sec, nsec := r.order().Uint32(b), r.order().Uint32(b[4:])
	if r.nul {
		return int64(int32(sec))*1e9 + int64(nsec)
	}
	return int64(sec)*1e9 + int64(nsec)
}

// run reads numbers at fixed offsets.
func (r *reader) run(u *run, out *sink) bool {
	at := (r.pos + u.align - 1) &^ (u.align - 1)
	l := u.layouts[at&7]
	if l.size > len(r.data)-at {
		return r.short("numbers", l.size)
	}
	b := r.data[at : at+l.size]
	r.pos = at + l.size
	for _, s := range l.segs {
		out.put(s.kind, b[s.from:], s.n, r.big)
	}
	return true
}

// sequence reads an array of variable length.
func (r *reader) sequence(p *program, o *op) bool {
	if o.box {
		if _, ok := r.word(p.align, "size of an array"); !ok {
			return false
		}
	}
	n, ok := r.length(p.align, o.least, "length of an array")
	if !ok || len(o.body) == 0 {
		return ok
	}
	from := r.pos
	var out sink
	if o.list >= 0 && !r.muted {
		shape, list := &r.shape.Lists[o.list], &r.rows.Lists[o.list]
		list.Lengths = append(list.Lengths, int32(n))
		count, fits := n*len(shape.Columns), n == int(list.Lengths[0])
		if shape.Labels != "" || shape.Padded {
			fits = count <= MaxList
			if shape.named {
				r.naming, list.texts = list, list.texts[:0]
			}
		}
		if shape.Keyed || !list.Dropped && fits && !(shape.Bytes && n > maxBytes) {
			if shape.Wide {
				list.F64, out.f64 = grow(list.F64, count)
			} else {
				list.F32, out.f32 = grow(list.F32, count)
			}
		}
	}
	if o.inner != nil && n != 1 {
		for _, i := range o.inner {
			list := &r.rows.Lists[i]
			list.Lengths, list.Several = append(list.Lengths, 0), list.Several || n > 1
		}
		r.muted = true
		ok := r.body(p, o, n, &out)
		r.muted = false
		return ok && r.ended(o, from, n, &out)
	}
	return r.body(p, o, n, &out) && r.ended(o, from, n, &out)
}

// body reads the elements of an array of variable length.
func (r *reader) body(p *program, o *op, n int, out *sink) bool {
	switch u := o.run; {
	case n == 0:
	case u != nil && u.dense:
		at := (r.pos + u.align - 1) &^ (u.align - 1)
		l := u.layouts[at&7]
		if n*l.size > len(r.data)-at {
			return r.short("array", n*l.size)
		}
		r.pos = at + n*l.size
		if out.f32 == nil && out.f64 == nil {
			break
		}
		if u.whole {
			out.put(l.segs[0].kind, r.data[at:], n*l.segs[0].n, r.big)
			break
		}
		for range n {
			for _, s := range l.segs {
				out.put(s.kind, r.data[at+s.from:], s.n, r.big)
			}
			at += l.size
		}
	case o.list >= 0 && r.shape.Lists[o.list].Keyed:
		return r.elements(p, o, n, out)
	default:
		for range n {
			if !r.exec(p, o.body, out) {
				return false
			}
		}
	}
	return true
}

// ended records the position of an array of variable length.
func (r *reader) ended(o *op, from, n int, out *sink) bool {
	if o.text >= 0 {
		r.rows.spans[o.text] = span{from, r.pos, n}
	}
	if o.list >= 0 && !r.muted {
		r.rows.Lists[o.list].Inexact += out.inexact
	}
	return true
}

// grow extends a slice by n, and returns the slice and the new part.
func grow[T any](list []T, n int) (all, part []T) {
	at := len(list)
	all = slices.Grow(list, n)[:at+n]
	return all, all[at:]
}

// put writes n consecutive numbers. If both slices are nil, it drops the numbers.
func (s *sink) put(kind Kind, b []byte, n int, big bool) {
	switch {
	case s.f64 != nil:
		dst := s.f64[s.at : s.at+n]
		if kind == Float64 && !big && raw.Little {
			if n < 8 {
				b = b[:8*n]
				for i := range dst {
					dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
				}
			} else {
				copy(raw.Bytes(dst), b)
			}
		} else {
			s.inexact += convert(dst, kind, b, big)
		}
	case s.f32 != nil:
		dst := s.f32[s.at : s.at+n]
		if kind == Float32 && !big && raw.Little {
			copy(raw.Bytes(dst), b)
		} else {
			convert(dst, kind, b, big)
		}
	}
	s.at += n
}

// convert converts numbers from a kind, and returns how many integers dst cannot hold exactly.
func convert[T float32 | float64](dst []T, kind Kind, b []byte, big bool) (inexact int) {
	if big {
		return convertBig(dst, kind, b)
	}
	le := binary.LittleEndian
	switch kind {
	case Bool:
		for i := range dst {
			dst[i] = 0
			if b[i] != 0 {
				dst[i] = 1
			}
		}
	case Int8:
		for i := range dst {
			dst[i] = T(int8(b[i]))
		}
	case Uint8:
		for i := range dst {
			dst[i] = T(b[i])
		}
	case Int16:
		for i := range dst {
			dst[i] = T(int16(le.Uint16(b[2*i:])))
		}
	case Uint16:
		for i := range dst {
			dst[i] = T(le.Uint16(b[2*i:]))
		}
	case Int32:
		for i := range dst {
			dst[i] = T(int32(le.Uint32(b[4*i:])))
		}
	case Uint32:
		for i := range dst {
			dst[i] = T(le.Uint32(b[4*i:]))
		}
	case Float32:
		for i := range dst {
			dst[i] = T(math.Float32frombits(le.Uint32(b[4*i:])))
		}
	case Float64:
		for i := range dst {
			dst[i] = T(math.Float64frombits(le.Uint64(b[8*i:])))
		}
	case Int64:
		for i := range dst {
			var exact bool
			if dst[i], exact = dataset.Float[T](int64(le.Uint64(b[8*i:]))); !exact {
				inexact++
			}
		}
	case Uint64:
		for i := range dst {
			var exact bool
			if dst[i], exact = dataset.Float[T](le.Uint64(b[8*i:])); !exact {
				inexact++
			}
		}
	}
	return inexact
}

// convertBig converts big-endian numbers.
func convertBig[T float32 | float64](dst []T, kind Kind, b []byte) (inexact int) {
	size := sizes[kind]
	var turned [8]byte
	for i := range dst {
		for k := range size {
			turned[k] = b[i*size+size-1-k]
		}
		inexact += convert(dst[i:i+1], kind, turned[:], false)
	}
	return inexact
}
