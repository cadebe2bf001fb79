package topics

import (
	"context"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/message"
)

// Two channels in turn are two publishers; a second one that follows the first is the next piece, or a node that was started anew.
func TestPublishersThatAlternateAreNoted(t *testing.T) {
	for name, c := range map[string]struct {
		channel func(i int) int
		returns int
	}{
		"in turn":   {func(i int) int { return i % 2 }, 38},
		"one slow":  {func(i int) int { return 1 - min(i%4, 1) }, 18},
		"in pieces": {func(i int) int { return i / 20 }, 0},
		"one":       {func(int) int { return 0 }, 0},
	} {
		log := &fakeLog{channels: []Channel{{Topic: "/cmd", Encoding: "json", Metadata: map[string]string{"callerid": "/teleop"}}, {Topic: "/cmd", Encoding: "json"}}}
		for i := range 40 {
			log.parts = append(log.parts, []Message{{Channel: c.channel(i), Log: int64(i), Publish: int64(i), Data: []byte(`{"x":1}`)}})
		}
		e, err := Read(context.Background(), log, dataset.Options{})
		require.NoError(t, err)
		n := e.Notes.Find(dataset.CodePublishersAlternate)
		if c.returns == 0 {
			assert.Nil(t, n, name)
			continue
		}
		require.NotNil(t, n, name)
		assert.Equal(t, []any{"/cmd", c.returns, 40}, []any{n.Subject, n.Count, n.Of}, name)
		assert.ElementsMatch(t, []string{"/teleop", "channel 1"}, n.Names)
	}
}

// Two sequences of message numbers in turn are two publishers on one channel. A sequence that begins again, loses numbers, counts the messages of a
// whole log, or is in another order is one publisher.
func TestSequencesThatAlternateAreNoted(t *testing.T) {
	for name, c := range map[string]struct {
		number  func(i int) int
		returns int
	}{
		"in turn":       {func(i int) int { return 1 + i/2 + i%2*99 }, 38},
		"near":          {func(i int) int { return 1 + i/2 + i%2*3 }, 34}, // not the first four: until the numbers overlap, they may be in another order
		"one loses":     {func(i int) int { return 1 + i/2*(1+i%2) + i%2*1000 }, 19},
		"one":           {func(i int) int { return 1 + i }, 0},
		"begins again":  {func(i int) int { return 1 + i%10 }, 0},
		"loses numbers": {func(i int) int { return 1 + 3*i }, 0},
		"exchanged":     {func(i int) int { return 1 + i ^ 1 }, 0},
		"none":          {func(int) int { return 0 }, 0},
	} {
		log := &fakeLog{channels: []Channel{{Topic: "/cmd", Encoding: "json"}}}
		for i := range 40 {
			log.parts = append(log.parts, []Message{{Log: int64(i), Publish: int64(i), Sequence: uint32(c.number(i)), Data: []byte(`{"x":1}`)}})
		}
		e, err := Read(context.Background(), log, dataset.Options{})
		require.NoError(t, err)
		n := e.Notes.Find(dataset.CodePublishersAlternate)
		if c.returns == 0 {
			assert.Nil(t, n, name)
			continue
		}
		require.NotNil(t, n, name)
		assert.Equal(t, []any{"/cmd", c.returns, 40}, []any{n.Subject, n.Count, n.Of}, name)
		assert.Len(t, n.Names, 2, name)
	}
}

// Two coordinate frames, or numbers in the headers of ROS, in turn are two publishers on one channel. The topic of a log, which all nodes have, has many.
func TestHeadersThatAlternateAreNoted(t *testing.T) {
	const line = "================================================================================\nMSG: std_msgs/Header\n"
	header := func(seq []byte, frame string) []byte {
		b := append(append([]byte{}, seq...), 1, 0, 0, 0, 2, 0, 0, 0)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(frame))), frame...)
	}
	ros2 := func(i int, text string) []byte { return append(header([]byte{0, 1, 0, 0}, text), 7) }
	for name, c := range map[string]struct {
		kind, fields string
		data         func(i int) []byte
		names        []string
	}{
		"frames":  {"p/msg/A", "uint8 x", func(i int) []byte { return ros2(i, []string{"left\x00", "right\x00"}[i%2]) }, []string{"left", "right"}},
		"restart": {"p/msg/A", "uint8 x", func(i int) []byte { return ros2(i, []string{"left\x00", "right\x00"}[i/20]) }, nil},
		"one":     {"p/msg/A", "uint8 x", func(i int) []byte { return ros2(i, "left\x00") }, nil},
		"many":    {"p/msg/Log", "uint8 x", func(i int) []byte { return ros2(i, []string{"left\x00", "right\x00"}[i%2]) }, nil},
		"moving": {"p/msg/A", "string child_frame_id\nuint8 x", func(i int) []byte {
			return append(header([]byte{0, 1, 0, 0}, "odom\x00\x00\x00\x00"), 2, 0, 0, 0, 'a'+byte(i%2), 0, 7)
		}, []string{"a in odom", "b in odom"}},
		"sequence": {"p/A", "uint8 x", func(i int) []byte { return append(header([]byte{byte(1 + i/2 + i%2*99), 0, 0, 0}, "left"), 7) },
			[]string{"sequence from 1", "sequence from 100"}},
	} {
		channel := Channel{Topic: "/x", Encoding: "cdr", Schema: message.Schema{Name: c.kind, Encoding: "ros2msg",
			Data: []byte("std_msgs/Header header\n" + c.fields + "\n" + line + "builtin_interfaces/Time stamp\nstring frame_id\n")}}
		if name == "sequence" {
			channel.Encoding, channel.Schema.Encoding = "ros1", "ros1msg"
			channel.Schema.Data = []byte("Header header\n" + c.fields + "\n" + line + "uint32 seq\ntime stamp\nstring frame_id\n")
		}
		log := &fakeLog{channels: []Channel{channel}}
		for i := range 40 {
			log.parts = append(log.parts, []Message{{Log: int64(i), Publish: int64(i), Data: c.data(i)}})
		}
		e, err := Read(context.Background(), log, dataset.Options{Strict: true})
		require.NoError(t, err, name)
		n := e.Notes.Find(dataset.CodePublishersAlternate)
		if c.names == nil {
			assert.Nil(t, n, name)
			continue
		}
		require.NotNil(t, n, name)
		assert.Equal(t, []any{"/x", 38, 40}, []any{n.Subject, n.Count, n.Of}, name)
		assert.ElementsMatch(t, c.names, n.Names, name)
	}
}
