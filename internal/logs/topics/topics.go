package topics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/logs/message/defs"
)

// Channel is a series of messages with one topic and type; a topic may have several channels.
type Channel struct {
	Topic    string
	Encoding string // message encoding
	Schema   message.Schema
	// Metadata is the container's metadata for the channel.
	Metadata map[string]string
}

// Keys in the metadata of a channel that has texts and nothing else. TextKey is "true" if they are the task, else "false". LaterKey is "false"
// if the first text holds before its time too: see dataset.TextStream.
const (
	TextKey  = "robocache.text"
	LaterKey = "robocache.later"
)

// Message is a message in a log. Data is valid until use returns.
type Message struct {
	Channel int   // index in Log.Channels
	Log     int64 // recording time, ns
	Publish int64 // send time, ns; equal to Log if the container lacks it
	// Sequence is the container's number for the message; 0 if it has none.
	Sequence uint32
	At       At
	Data     []byte
}

// At is a message's location in its container.
type At struct {
	Part   int   // below Log.Parts
	Offset int64 // in the part
}

// Log is a message container. Its methods may be called from any goroutine. Parts are read in parallel; the messages in a part may have
// any order.
type Log interface {
	// Channels returns the channels found so far. The list only grows, and is complete after all parts were read.
	Channels() []Channel
	// Parts returns how many independently readable pieces there are, such as chunks.
	Parts() int
	// Each calls use for each message in a part. Broken messages are skipped and counted in damage.
	Each(ctx context.Context, part int, damage *dataset.Notes, use func(m Message) error) error
	// Message returns one message's bytes again; the caller may keep them.
	Message(ctx context.Context, at At) ([]byte, error)
}

// Definer is a Log with message definitions besides those in its channels.
type Definer interface {
	// Definition returns a type's text by its full name, such as "geometry_msgs/Twist"; empty if there is none.
	Definition(name string) string
}

// Counter is a Log that knows each channel's message count, by index in Channels; 0 if unknown. The count may be wrong. If it is right,
// a stream's numbers are written directly to their final memory.
type Counter interface{ Count(channel int) int }

// clocks are the values of Options.Clock, the default first: the log time, the publish time if the container has one, and the timestamp in
// the message's header.
var clocks = []string{"log", "publish", "header"}

// Check checks the options before a log is opened. It returns the clocks with the selected one, and the definitions that the options
// name. An unknown clock, or a path without definitions, is a *dataset.OptionError.
func Check(ctx context.Context, opt dataset.Options) (dataset.Info, *defs.Set, error) {
	info := dataset.Info{Clocks: slices.Clone(clocks), Clock: cmp.Or(opt.Clock, clocks[0])}
	if !slices.Contains(clocks, info.Clock) {
		return dataset.Info{}, nil, &dataset.OptionError{Arg: "Clock", Got: opt.Clock, Want: strings.Join(clocks, " or ")}
	}
	if opt.Stretch < -1 {
		return dataset.Info{}, nil, &dataset.OptionError{Arg: "Stretch", Got: strconv.Itoa(opt.Stretch), Want: "a number from 1, or -1 for all"}
	}
	set, err := defs.Open(ctx, opt.Definitions)
	return info, set, err
}

// Read decodes a log to an episode: a stream for each topic with numbers, a stream for each array of variable length, Media for images
// and video, and Clouds for point clouds. Frames and clouds are read on demand, so the log must stay open. The caller sets the
// episode's name and attributes.
//
// Broken messages are counted in Damage; with Options.Strict they are an error. A topic without a decoder becomes a note with its
// message count.
func Read(ctx context.Context, log Log, opt dataset.Options) (*dataset.Episode, error) {
	return read(ctx, log, opt, message.New)
}

// opener has the type of message.New.
type opener func(encoding string, schema message.Schema, lookup func(name string) string) (message.Decoder, error)

func read(ctx context.Context, log Log, opt dataset.Options, open opener) (*dataset.Episode, error) {
	r := newReader(log, open)
	r.strict, r.defined, r.clock, r.task = opt.Strict, len(opt.Definitions) > 0, cmp.Or(opt.Clock, clocks[0]), opt.TaskFrom
	if d, ok := log.(Definer); ok {
		r.define = d.Definition
	} else {
		set, err := defs.Open(ctx, opt.Definitions)
		if err != nil {
			return nil, err
		}
		r.define = set.Lookup("")
	}
	if err := r.all(ctx); err != nil {
		return nil, err
	}
	if opt.Stretch > 0 {
		return r.stretch(ctx, opt.Stretch)
	}
	if opt.Stretch == 0 {
		if err := r.setBackError(); err != nil {
			return nil, err
		}
	}
	return r.episode()
}

func newReader(log Log, open opener) *reader {
	return &reader{log: log, decoder: open, keys: map[key]*channel{}, named: map[string][]*topic{}, tails: map[int]*tail{}}
}

// all reads the whole log.
func (r *reader) all(ctx context.Context) error {
	parts := make([]int, r.log.Parts())
	for i := range parts {
		parts[i] = i
	}
	if err := r.pass(ctx, parts, false); err != nil {
		return err
	}
	if len(r.again) > 0 {
		if err := r.pass(ctx, r.again, true); err != nil {
			return err
		}
	}
	r.judge()
	return nil
}

// stretch reads one stretch, counted from 1, in a log that was read before.
func (r *reader) stretch(ctx context.Context, number int) (*dataset.Episode, error) {
	bounds := r.bounds()
	switch n := len(bounds) + 1; {
	case number > n:
		return nil, &dataset.OptionError{Arg: "Stretch", Got: strconv.Itoa(number), Want: fmt.Sprintf("at most %d: the clock of the log was set back %d times", n, n-1)}
	case n == 1:
		return r.episode()
	}
	one := newReader(r.log, r.decoder)
	one.strict, one.defined, one.clock, one.define, one.task = r.strict, r.defined, r.clock, r.define, r.task
	if number > 1 {
		one.from = &bounds[number-2]
	}
	if number <= len(bounds) {
		one.until = &bounds[number-1]
	}
	if err := one.all(ctx); err != nil {
		return nil, err
	}
	one.damage.Add(dataset.Note{Code: dataset.CodeOtherStretches, Count: one.outside, Detail: dataset.Detail{Got: strconv.Itoa(number), Of: len(bounds) + 1}})
	return one.episode()
}
