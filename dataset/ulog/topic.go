package ulog

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

const maxTime = 1 << 62 // nanoseconds

// topic is one instance of a type, on its way to become a stream.
type topic struct {
	name    string
	multi   uint8
	format  *format
	stopped bool

	samples int
	times   []int64
	f32     []float32
	f64     []float64
	inexact int
	dropped int64 // the parser's sum of dropouts at the latest sample
}

type instance struct {
	name  string
	multi uint8
}

// subscribe ties a message id to a topic.
func (p *parser) subscribe(off int, body []byte) error {
	at := int64(off + messageHead)
	if len(body) < 4 {
		return corrupt(at, "subscription", fmt.Sprintf("%d bytes", len(body)), "at least 4")
	}
	key := instance{string(body[3:]), body[0]}
	f := p.formats[key.name]
	if f == nil {
		return corrupt(at+3, "subscription", quote(key.name), "a format that is defined")
	}
	id := binary.LittleEndian.Uint16(body[1:])
	t := p.topics[key]
	if old := p.ids[id]; old != nil && old != t {
		return corrupt(at+1, "subscription", fmt.Sprintf("message id %d, which is %s instance %d", id, old.name, old.multi), "an id of its own")
	}
	if t == nil {
		t = &topic{name: key.name, multi: key.multi, format: f}
		p.topics[key] = t
		p.order = append(p.order, t)
	}
	t.stopped = false
	p.ids[id] = t
	return nil
}

func (p *parser) unsubscribe(off int, body []byte) error {
	if len(body) != 2 {
		return corrupt(int64(off+messageHead), "unsubscription", fmt.Sprintf("%d bytes", len(body)), "2")
	}
	id := binary.LittleEndian.Uint16(body)
	t := p.ids[id]
	if t == nil {
		return corrupt(int64(off+messageHead), "unsubscription", fmt.Sprintf("message id %d", id), "one that was subscribed")
	}
	t.stopped = true
	p.stopped = append(p.stopped, t)
	return nil
}

// sample reads a data message.
func (p *parser) sample(off int, body []byte) error {
	at := int64(off + messageHead)
	if len(body) < 2 {
		return corrupt(at, "data", fmt.Sprintf("%d bytes", len(body)), "at least 2")
	}
	id := binary.LittleEndian.Uint16(body)
	t := p.ids[id]
	if t == nil || t.stopped {
		return corrupt(at, "data", fmt.Sprintf("message id %d", id), "one that is subscribed")
	}
	body, f := body[2:], t.format
	if err := p.layout(f, len(body)); err != nil {
		return err
	}
	if len(body) < f.need || len(body) > f.size {
		want := strconv.Itoa(f.need)
		if f.size > f.need {
			want += " to " + strconv.Itoa(f.size)
		}
		return corrupt(at+2, "data of "+t.name, fmt.Sprintf("%d bytes", len(body)), want)
	}
	if f.clock.base == 0 {
		t.samples++
		return nil
	}
	time, err := p.clock(t, body, at+2)
	if err != nil {
		return err
	}
	if t.samples == 0 {
		// The messages of this id come to v.bytes, so no more than this many of them can be whole.
		v := p.volumes[id]
		n := min(v.messages, v.bytes/f.need)
		t.times = make([]int64, 0, n)
		if f.wide {
			t.f64 = make([]float64, 0, n*len(f.leaves))
		} else {
			t.f32 = make([]float32, 0, n*len(f.leaves))
		}
	}
	t.samples++
	t.times = append(t.times, time)
	t.dropped = p.dropped
	p.last = max(p.last, time)
	if f.wide {
		t.f64 = t.wide(t.f64, body)
	} else {
		t.f32 = t.narrow(t.f32, body)
	}
	return nil
}

// clock returns a message's time. A timestamp of less than 64 bits wraps around: the first is taken nearest to the latest
// timestamp of the file, each later one is the earliest that is not before the previous one and the dropouts since.
func (p *parser) clock(t *topic, body []byte, at int64) (int64, error) {
	c, le := t.format.clock, binary.LittleEndian
	if c.base == tUint64 {
		return micros(le.Uint64(body[c.off:]), at+int64(c.off))
	}
	var timestamp, period int64
	switch c.base {
	case tUint32:
		timestamp, period = 1e3*int64(le.Uint32(body[c.off:])), 1e3<<32
	case tUint16:
		timestamp, period = 1e3*int64(le.Uint16(body[c.off:])), 1e3<<16
	default:
		timestamp, period = 1e6*int64(body[c.off]), 1e6<<8 // milliseconds, by the format's own rule
	}
	low := max(0, p.last-period/2)
	if t.samples > 0 {
		low = t.times[t.samples-1] + p.dropped - t.dropped
	}
	if low > maxTime-period {
		return 0, tooLarge(at+int64(c.off), "timestamp of "+t.name, fmt.Sprintf("%d ns and more", low), "at most 2^62 ns")
	}
	ahead := (timestamp - low%period + period) % period
	return low + ahead, nil
}

// micros converts a recorded timestamp to nanoseconds.
func micros(us uint64, at int64) (int64, error) {
	if us > maxTime/1000 {
		return 0, tooLarge(at, "timestamp", strconv.FormatUint(us, 10)+" us", "at most 2^62 ns")
	}
	return int64(us) * 1000, nil
}

// narrow appends a message's values where every type fits f32.
func (t *topic) narrow(dst []float32, b []byte) []float32 {
	le := binary.LittleEndian
	for _, l := range t.format.leaves {
		var v float32
		switch l.base {
		case tFloat:
			v = math.Float32frombits(le.Uint32(b[l.off:]))
		case tInt8:
			v = float32(int8(b[l.off]))
		case tInt16:
			v = float32(int16(le.Uint16(b[l.off:])))
		case tUint16:
			v = float32(le.Uint16(b[l.off:]))
		default:
			v = float32(b[l.off])
		}
		dst = append(dst, v)
	}
	return dst
}

// wide appends a message's values as f64.
func (t *topic) wide(dst []float64, b []byte) []float64 {
	le := binary.LittleEndian
	for _, l := range t.format.leaves {
		var v float64
		switch l.base {
		case tFloat:
			v = float64(math.Float32frombits(le.Uint32(b[l.off:])))
		case tDouble:
			v = math.Float64frombits(le.Uint64(b[l.off:]))
		case tInt8:
			v = float64(int8(b[l.off]))
		case tInt16:
			v = float64(int16(le.Uint16(b[l.off:])))
		case tUint16:
			v = float64(le.Uint16(b[l.off:]))
		case tInt32:
			v = float64(int32(le.Uint32(b[l.off:])))
		case tUint32:
			v = float64(le.Uint32(b[l.off:]))
		case tInt64:
			x := int64(le.Uint64(b[l.off:]))
			v = float64(x)
			t.count(uint64(max(x, -x)))
		case tUint64:
			x := le.Uint64(b[l.off:])
			v = float64(x)
			t.count(x)
		default:
			v = float64(b[l.off])
		}
		dst = append(dst, v)
	}
	return dst
}

// count counts a magnitude that has more than the 53 significant bits of a float64.
func (t *topic) count(x uint64) {
	if x>>53 != 0 && bits.Len64(x)-bits.TrailingZeros64(x) > 53 {
		t.inexact++
	}
}

// streamName names instance 0 as its topic, and the others NAME_1 and so on. Where another topic has that very name, the
// number is given once more.
func (p *parser) streamName(t *topic) string {
	name := t.name
	if t.multi == 0 {
		return name
	}
	for tail := "_" + strconv.Itoa(int(t.multi)); ; {
		name += tail
		if p.topics[instance{name, 0}] == nil {
			return name
		}
	}
}

// streams turns the topics into streams.
func (p *parser) streams(log *Log) error {
	for _, t := range p.order {
		switch {
		case t.samples == 0:
			log.LeftOut = append(log.LeftOut, dataset.LeftOut{Name: p.streamName(t), Reason: "no samples", Columns: t.format.columns})
			continue
		case t.format.clock.base == 0:
			log.LeftOut = append(log.LeftOut, dataset.LeftOut{Name: p.streamName(t), Count: t.samples, Reason: fmt.Sprintf("no timestamps for its %d samples", t.samples)})
			continue
		}
		var values *tensor.Tensor
		var err error
		if t.format.wide {
			values, err = tensor.Of(t.f64, len(t.times), len(t.format.columns))
		} else {
			values, err = tensor.Of(t.f32, len(t.times), len(t.format.columns))
		}
		if err != nil {
			return err
		}
		s, err := dataset.NewStream(p.streamName(t), t.times, values, t.format.columns)
		if err != nil {
			return err
		}
		s.Inexact = t.inexact
		log.Streams = append(log.Streams, s)
	}
	for _, t := range p.stopped {
		log.Unsubscribed = append(log.Unsubscribed, p.streamName(t))
	}
	return nil
}
