package topics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/video"
)

// reader reads a log.
type reader struct {
	log     Log
	decoder opener
	strict  bool
	clock   string
	task    string // the topic in Options.TaskFrom
	define  func(name string) string
	defined bool // whether the caller supplied definitions

	channels atomic.Pointer[[]*channel] // channels opened so far
	mu       sync.Mutex                 // for writers of channels, keys, topics and named
	keys     map[key]*channel           // the first channel for each key
	topics   []*topic                   // by first channel, an order that varies
	named    map[string][]*topic        // the same by name

	from, until *At // first message to read, and first one after the range; nil if unbounded
	outside     int // messages outside the range
	tails       map[int]*tail
	setBacks    []setBack

	joined int // pieces joined so far
	again  []int
	damage dataset.Notes
	idle   sync.Pool // unused *part values
}

// channel decodes messages for a topic. Channels with equal topics and schemas share one.
type channel struct {
	topic   *topic
	decoder message.Decoder // nil if the channel cannot be decoded
	learner message.Learner // nil if the decoder does not learn from messages
	// text reads a message's text, if the topic is the task or has TextKey.
	text func(data []byte) (string, error)
}

// key identifies channels that share a decoder.
type key struct{ topic, encoding, name, schemaEncoding, data string }

// channel returns the log's channel i, and opens it if it is new. An unknown index is an error.
func (r *reader) channel(i int) (*channel, error) {
	if met := r.channels.Load(); met != nil && i >= 0 && i < len(*met) {
		return (*met)[i], nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	met := r.meet()
	if i < 0 || i >= len(met) {
		return nil, fmt.Errorf("topics: channel %d of %d", i, len(met))
	}
	return met[i], nil
}

// meet opens new channels, and returns all channels.
func (r *reader) meet() []*channel {
	var met []*channel
	if before := r.channels.Load(); before != nil {
		met = *before // readers of the old slice see only its length
	}
	counter, _ := r.log.(Counter)
	for _, c := range r.log.Channels()[len(met):] {
		in := r.open(&c)
		if counter != nil {
			in.topic.expect.Add(int64(max(counter.Count(len(met)), 0)))
		}
		met = append(met, in)
	}
	r.channels.Store(&met)
	return met
}

// open creates a channel's decoder, and finds its topic.
func (r *reader) open(in *Channel) *channel {
	k := key{in.Topic, in.Encoding, in.Schema.Name, in.Schema.Encoding, string(in.Schema.Data)}
	if c := r.keys[k]; c != nil {
		return c
	}
	c := &channel{}
	r.keys[k] = c
	define := r.define
	if in.Encoding == "ros1" && !r.defined { // the built-in definitions are for ROS 2
		define = nil
	}
	decoder, err := r.decoder(in.Encoding, in.Schema, define)
	if (in.Encoding == "cdr" || in.Encoding == "ros1") && in.Schema.Name == "" && len(in.Schema.Data) == 0 {
		err = &dataset.FormatError{Format: "message", Offset: -1, Kind: dataset.ErrUnsupported, Msg: "channel", Got: "no schema", Want: "one, which messages of " + in.Encoding + " need"}
	}
	if err == nil {
		c.decoder = decoder
		c.learner, _ = decoder.(message.Learner)
		if in.Topic == r.task || in.Metadata[TextKey] != "" {
			c.text = message.TextOf(decoder)
		}
	}
	t := &topic{metadata: in.Metadata, index: len(r.topics), name: in.Topic, kind: in.Schema.Name, why: err, first: -1, ros: in.Encoding == "cdr" || in.Encoding == "ros1"}
	if err == nil && c.learner == nil {
		t.shape = decoder.Shape()
		for _, o := range r.named[t.name] {
			if o.shape != nil && !o.learns && reflect.DeepEqual(o.shape, t.shape) {
				c.topic = o
				return c
			}
		}
	}
	t.learns = c.learner != nil
	c.topic = t
	r.topics, r.named[t.name] = append(r.topics, t), append(r.named[t.name], t)
	return c
}

// part holds the decoded messages from a part of the log.
type part struct {
	number  int
	pieces  []*piece // by topic index; nil until a message for the topic is read
	used    []*piece // by first message
	learnt  bool     // whether messages must be read again
	outside int      // messages outside the range
	damage  dataset.Notes
	err     error
}

// piece holds the decoded messages of one topic from one part of the log.
type piece struct {
	topic        *topic
	count        int // messages, including undecodable ones
	rows         message.Rows
	log, publish []int64
	origins      []origin
	frame        string // from the last origin with a frame
	at           []place
	frames       kinds
	texts        []string
	empty        int // frames without bytes
	bytes        int64
	broken       failed
	refused      failed // messages in an unsupported form
}

// failed counts undecodable messages.
type failed struct {
	count int
	bytes int64
	first *dataset.FormatError
}

func (f *failed) add(o failed) {
	if f.first == nil {
		f.first = o.first
	}
	f.count += o.count
	f.bytes += o.bytes
}

// place locates a message, with its decoder.
type place struct {
	At
	decoder message.Decoder
	size    uint32 // a frame's size in bytes
	begins  bool   // whether a video can be decoded from here
	kind    uint16 // a frame's index in topic.frames
}

// pass reads parts in parallel, and joins them in order. With again, it reads only channels with a learner, because these can decode
// only after they have learned from all messages.
func (r *reader) pass(ctx context.Context, parts []int, again bool) (err error) {
	for _, c := range r.keys {
		if again && c.learner != nil {
			c.topic.shape = c.decoder.Shape()
		}
	}
	workers := min(runtime.GOMAXPROCS(0), len(parts))
	do := func(ctx context.Context, i int) *part { return r.read(ctx, parts[i], again) }
	for _, p := range inorder.Each(ctx, len(parts), workers, workers, func(*part) int { return 2 * workers }, do) {
		if err = r.join(p, again); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read decodes a part's messages.
func (r *reader) read(ctx context.Context, number int, again bool) *part {
	p, _ := r.idle.Get().(*part)
	if p == nil {
		p = &part{}
	}
	p.number = number
	if p.err = ctx.Err(); p.err != nil {
		return p
	}
	p.err = r.log.Each(ctx, number, &p.damage, func(m Message) error {
		if r.from != nil && m.At.before(*r.from) || r.until != nil && !m.At.before(*r.until) {
			p.outside++
			return nil
		}
		c, err := r.channel(m.Channel)
		if err != nil || again && c.learner == nil {
			return err
		}
		in := p.piece(c.topic)
		if !again {
			in.count++
		}
		switch {
		case c.decoder == nil:
			return nil
		case c.learner != nil && !again:
			p.learnt = true
			_ = c.learner.Learn(m.Data) // decoding reports the error
			return nil
		}
		if c.topic.over.Load() {
			return nil
		}
		if err := in.decode(c, &m); err != nil {
			return in.fail(err, &m, r.strict)
		}
		if bad := c.topic.fault.Load(); bad != nil {
			in.rows.Reset()
			if r.strict {
				return bad
			}
			return nil
		}
		if in.bytes += int64(len(m.Data)) + overhead; roomOf(&in.rows) > mostRoom*in.bytes+freePiece {
			c.topic.over.Store(true)
			in.rows.Reset()
			return nil
		}
		if c.text != nil {
			s, _ := c.text(m.Data) // ignore the error, because the message was decoded
			in.texts = append(in.texts, strings.ToValidUTF8(s, "\uFFFD"))
		}
		in.log = append(in.log, m.Log)
		in.origins = append(in.origins, in.origin(c, &m))
		in.publish = append(in.publish, m.Publish)
		if len(in.log) == firstRows {
			in.reserve(int(c.topic.expect.Load())/r.log.Parts() - firstRows)
		}
		return nil
	})
	return p
}

// After its first messages a piece reserves memory for the expected messages, but at most mostAhead times as many, because the count
// comes from the file.
const (
	firstRows = 16
	mostAhead = 64
)

// reserve reserves memory for n messages like the first ones.
func (in *piece) reserve(n int) {
	n = min(max(n, 0), mostAhead*firstRows)
	in.log, in.publish, in.origins = slices.Grow(in.log, n), slices.Grow(in.publish, n), slices.Grow(in.origins, n)
	in.rows.F32 = slices.Grow(in.rows.F32, len(in.rows.F32)*n/firstRows)
	in.rows.F64 = slices.Grow(in.rows.F64, len(in.rows.F64)*n/firstRows)
}

func (p *part) piece(t *topic) *piece {
	for len(p.pieces) <= t.index {
		p.pieces = append(p.pieces, nil)
	}
	in := p.pieces[t.index]
	if in == nil {
		in = &piece{}
		p.pieces[t.index] = in
	}
	if in.topic == nil {
		in.topic = t
		p.used = append(p.used, in)
	}
	return in
}

// decode appends a message's numbers, or the location of its frame or cloud. If it returns an error, the message adds nothing.
func (in *piece) decode(c *channel, m *Message) (err error) {
	defer func() {
		if p := recover(); p != nil { // a bug in the decoder; only this topic is lost
			in.topic.fault.Store(&dataset.FormatError{Format: "message", Offset: -1, Kind: dataset.ErrCorrupt, Msg: "decoder", Got: fmt.Sprintf("a panic: %v", p)})
			in.topic.over.Store(true)
		}
	}()
	shape, one := c.decoder.Shape(), place{At: m.At, decoder: c.decoder}
	switch shape.Media {
	case message.NoMedia:
		return c.decoder.Append(&in.rows, m.Data)
	case message.PointCloud:
		if err := c.decoder.Append(&in.rows, m.Data); err != nil {
			return err
		}
	default:
		f, err := c.decoder.Frame(m.Data)
		if err != nil {
			return err
		}
		if len(f.Data) == 0 {
			return errEmpty
		}
		in.rows.Surplus.Add(f.Surplus)
		one.kind = uint16(min(in.frames.add(kindOf(&f)), math.MaxUint16))
		one.size, one.begins = uint32(min(len(f.Data), math.MaxUint32)), video.Begins(f.Encoding, f.Data)
		if shape.Stamp {
			in.rows.Stamps = append(in.rows.Stamps, f.Stamp)
		}
	}
	in.at = append(in.at, one)
	return nil
}

// errEmpty is the error for a frame without bytes, such as a driver's first messages. The message is counted but is not a sample.
var errEmpty = errors.New("a frame without bytes")

// kindOf returns a frame's kind.
func kindOf(f *message.Frame) frames {
	k := frames{encoding: f.Encoding, width: f.Width, height: f.Height, count: 1}
	if f.Encoding == "jpeg" || f.Encoding == "png" {
		k.stored[0], k.stored[1] = dataset.ImageSize(f.Data)
	}
	return k
}

// fail counts an undecodable message.
func (in *piece) fail(err error, m *Message, strict bool) error {
	if err == errEmpty {
		in.empty++
		return nil
	}
	var bad *dataset.FormatError
	if !errors.As(err, &bad) {
		return err
	}
	said := *bad
	said.Msg = fmt.Sprintf("message of %s at %d ns: %s", in.topic.name, m.Log, bad.Msg)
	one := failed{1, int64(len(m.Data)), &said}
	switch _, broken := dataset.AsBroken(err); {
	case !broken:
		in.refused.add(one)
	case strict:
		return &said
	default:
		in.broken.add(one)
	}
	return nil
}

// join joins a part to the topics.
func (r *reader) join(p *part, again bool) error {
	if r.strict && len(p.damage) > 0 && p.damage[0].Cause != nil {
		return p.damage[0].Cause
	}
	if p.err != nil {
		return p.err
	}
	if !again {
		r.damage.Join(p.damage)
		r.outside += p.outside
	}
	for _, in := range p.used {
		in.topic.join(in, r)
		if in.broken.count > 0 {
			r.damage.Join(dataset.Notes{{Code: dataset.CodeMessageMismatch, Count: in.broken.count, Detail: dataset.Detail{Bytes: in.broken.bytes, Cause: in.broken.first}}})
		}
		in.clear()
	}
	if p.learnt {
		r.again = append(r.again, p.number)
	}
	*p = part{pieces: p.pieces, used: p.used[:0]}
	r.idle.Put(p)
	return nil
}

// clear empties a piece for reuse, and keeps its memory.
func (in *piece) clear() {
	in.rows.Reset()
	clear(in.frames.at)
	*in = piece{rows: in.rows, log: in.log[:0], publish: in.publish[:0], origins: in.origins[:0], at: in.at[:0], texts: in.texts[:0], frames: kinds{in.frames.list[:0], in.frames.at}}
}
