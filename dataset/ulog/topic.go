package ulog

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/tensor"
)

const maxTime = 1 << 62 // nanoseconds

// topic is one instance of a type; its samples become a stream.
type topic struct {
	name   string
	multi  uint8
	format *format // nil if there is none of its name
	id     uint16  // of its messages, if live
	live   bool    // subscribed, and not unsubscribed since

	samples int
	times   []int64
	f32     []float32
	f64     []float64
	inexact int
	dropped int64        // the parser's sum of dropouts at the latest sample
	lost    int          // data messages that could not be read
	flaw    dataset.Code // the reason if no data message can be read
}

type instance struct {
	name  string
	multi uint8
}

// subscribe connects a message id to a topic. If two topics claim an id, or a topic has two ids, one subscription is broken, and it
// is unknown which. So the data is lost rather than given to the wrong topic.
func (p *parser) subscribe(m message) error {
	at, body := m.at(), m.body
	if len(body) < 4 {
		return corrupt(at, "subscription", fmt.Sprintf("%d bytes", len(body)), "at least 4")
	}
	key := instance{string(body[3:]), body[0]}
	f := p.formats[key.name]
	missing := corrupt(at+3, "subscription", quote(key.name), "a format that is defined")
	if !plain(key.name) {
		return missing
	}
	id := binary.LittleEndian.Uint16(body[1:])
	t, old := p.topics[key], p.ids[id]
	if t == nil {
		t = &topic{name: key.name, multi: key.multi}
		p.topics[key] = t
		p.order = append(p.order, t)
	}
	switch {
	case old != nil && old != t:
		p.ids[id] = &p.contested
		t.flaw, old.flaw, old.live = dataset.CodeTwoTopics, dataset.CodeTwoTopics, false
		got := fmt.Sprintf("message id %d", id)
		if old != &p.contested {
			got += fmt.Sprintf(", which is %s instance %d", old.name, old.multi)
		}
		return corrupt(at+1, "subscription", got, "an id of its own")
	case t.live && t.id != id:
		p.ids[id], p.ids[t.id] = &p.contested, &p.contested
		t.flaw, t.live = dataset.CodeTwoIDs, false
		return corrupt(at+1, "subscription", fmt.Sprintf("message id %d for %s instance %d, which has id %d", id, t.name, t.multi, t.id), "one id for a topic")
	}
	t.format, t.flaw, t.id, t.live = f, "", id, true
	p.ids[id] = t
	if f == nil {
		t.flaw = dataset.CodeBrokenDefinition
		return missing
	}
	return nil
}

func (p *parser) unsubscribe(m message) error {
	if m.size != 2 {
		return corrupt(m.at(), "unsubscription", fmt.Sprintf("%d bytes", m.size), "2")
	}
	id := binary.LittleEndian.Uint16(m.body)
	t := p.subscribed(id)
	if t == nil {
		return corrupt(m.at(), "unsubscription", fmt.Sprintf("message id %d", id), "one that is subscribed")
	}
	t.live = false
	p.stopped = append(p.stopped, t)
	return nil
}

// subscribed returns the topic of a message id, or nil.
func (p *parser) subscribed(id uint16) *topic {
	if t := p.ids[id]; t != nil && t.live && t.id == id {
		return t
	}
	return nil
}

// sample reads a data message. With an error it also returns the code of its damage.
func (p *parser) sample(m message) (dataset.Code, error) {
	at := m.at()
	if m.size < 2 {
		return dataset.CodeMessageShort, corrupt(at, "data", fmt.Sprintf("%d bytes", m.size), "at least 2")
	}
	id := binary.LittleEndian.Uint16(m.body)
	t := p.subscribed(id)
	if t == nil {
		return dataset.CodeMessageWithoutTopic, corrupt(at, "data", fmt.Sprintf("message id %d", id), "one that is subscribed")
	}
	t.lost++ // until it is read
	if t.format == nil {
		return dataset.CodeMessageWithoutTopic, corrupt(at, "data of "+t.name, fmt.Sprintf("message id %d", id), "one of a format that is defined")
	}
	body, f := m.body[2:], t.format
	err := p.resolve(f, 0)
	if err == nil && (len(body) < f.need || len(body) > f.size) {
		want := strconv.Itoa(f.need)
		if f.size > f.need {
			want += " to " + strconv.Itoa(f.size)
		}
		return dataset.CodeMessageShort, corrupt(at+2, "data of "+t.name, fmt.Sprintf("%d bytes", len(body)), want)
	}
	if err == nil {
		err = p.layout(f)
	}
	if err != nil {
		t.flaw = dataset.CodeBrokenDefinition
		return dataset.CodeMessageFormat, err
	}
	if f.clock.base == 0 {
		t.lost--
		t.samples++
		return "", nil
	}
	time, err := p.clock(t, body, at+2)
	if err != nil {
		return dataset.CodeTimeOverflow, err
	}
	if t.samples == 0 {
		// The messages with this id have v.bytes in all, which limits how many of them can be complete.
		if p.volumes == nil {
			w := p.walk
			w.at = m.off
			p.volumes = w.measure()
		}
		v := p.volumes[id]
		n := min(v.messages, v.bytes/f.need)
		t.times = memory.Must[int64](t.name, n)[:0]
		if f.wide {
			t.f64 = memory.Must[float64](t.name, n*len(f.leaves))[:0]
		} else {
			t.f32 = memory.Must[float32](t.name, n*len(f.leaves))[:0]
		}
	}
	t.lost--
	t.samples++
	t.times = append(t.times, time)
	t.dropped = p.dropped
	p.seen(time)
	if f.wide {
		t.f64 = t.wide(t.f64, body)
	} else {
		t.f32 = t.narrow(t.f32, body)
	}
	return "", nil
}

// seen updates the latest timestamp. If a timestamp is an hour or more ahead, it counts only after another one near it, because a single
// wrong timestamp must not change the times that are derived from the latest.
func (p *parser) seen(time int64) {
	const hour = 3600e9
	if time-p.last >= hour && max(time-p.far, p.far-time) >= hour {
		p.far = time
		return
	}
	p.last = max(p.last, time)
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

// streamName returns the topic's name for instance 0, and NAME_1 and so on for the others. If another topic has this name, the number is
// appended again.
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

// streams adds a stream to the log for each topic with samples.
func (p *parser) streams(log *Log) error {
	for _, t := range p.order {
		switch {
		case t.samples == 0:
			note := dataset.Note{Code: dataset.CodeNoSamples, Subject: p.streamName(t), Count: t.lost}
			if t.lost > 0 {
				note.Code = dataset.CodeUnreadSamples
			}
			note.Code = cmp.Or(t.flaw, note.Code)
			log.Notes.Add(note)
			if t.format != nil {
				log.Empty = append(log.Empty, dataset.EmptyStream{Name: note.Subject, Columns: t.format.columns})
			}
			continue
		case t.format.clock.base == 0:
			log.Notes.Add(dataset.Note{Code: dataset.CodeNoTimestamps, Subject: p.streamName(t), Count: t.samples})
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
