// Package topics makes an episode of a log of messages: MCAP, ROS 1 bags and rosbag2 differ in their containers only.
package topics

import (
	"context"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/message"
)

// Channel is a series of messages of one topic and type; a topic may have several.
type Channel struct {
	Topic    string
	Encoding string // of its messages
	Schema   message.Schema
	// Metadata is what the container says of it.
	Metadata map[string]string
}

// Message is one of a log. Data is good until use returns.
type Message struct {
	Channel int   // of Log.Channels
	Log     int64 // when it was recorded, ns
	Publish int64 // when it was sent, ns; as Log where the container does not say
	At      At
	Data    []byte
}

// At is where a message is, to be read again: how the container counts.
type At struct {
	Part   int   // of Log.Parts
	Offset int64 // in it
}

// Log is a container of messages. Its methods may be called from any goroutine. Parts are read in parallel; their messages are in any order.
type Log interface {
	// Channels are those known after all parts were read, which only ever grow.
	Channels() []Channel
	// Parts is how many pieces that can be read on their own there are, such as chunks.
	Parts() int
	// Each calls use for each message of a part. What is broken is counted in damage, and passed over.
	Each(ctx context.Context, part int, damage *dataset.Damages, use func(m Message) error) error
	// Message returns the bytes of one message again; the caller may keep them.
	Message(ctx context.Context, at At) ([]byte, error)
}

// Clocks are what Options.Clock may be, the default first.
var Clocks = []string{"log", "publish", "header"}

// Read decodes a log to an episode: a stream for each topic of numbers, one for each array of any length in its messages, Media for images and video,
// Clouds for point clouds.
func Read(ctx context.Context, log Log, opt dataset.Options) (*dataset.Episode, error) {
	panic("to be built")
}
