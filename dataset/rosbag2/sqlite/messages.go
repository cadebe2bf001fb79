package sqlite

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
)

// bounds returns the smallest and largest message number in a part. The first and the last part extend beyond the reachable
// messages, because broken ones may be there.
func (l *log) bounds(part int) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	each := (uint64(l.last) - uint64(l.first)) / uint64(l.parts)
	if part > 0 {
		from = l.first + int64(each*uint64(part))
	}
	if part < l.parts-1 {
		to = l.first + int64(each*uint64(part+1)) - 1
	}
	return from, to
}

// Each calls use for each message in a part. A broken row is counted in damage, and is no error.
func (l *log) Each(ctx context.Context, part int, damage *dataset.Notes, use func(topics.Message) error) error {
	from, to := l.bounds(part)
	return l.messages.rows(ctx, from, to, damage, func(number int64, row []byte) error {
		topic, time, data, got := l.split(number, row)
		channel, ok := l.numbers[topic]
		switch {
		case got != "":
			damage.AddDamage(dataset.CodeMessageType, int64(len(row)), l.wrong(numbered(number), got, "integers for topic_id and timestamp, and a blob"))
			return nil
		case !ok:
			damage.AddDamage(dataset.CodeMessageWithoutTopic, int64(len(row)), l.wrong(numbered(number), "topic_id "+strconv.FormatInt(topic, 10), "one of the table topics"))
			return nil
		}
		return use(topics.Message{Channel: channel, Log: time, Publish: time, At: topics.At{Part: part, Offset: number}, Data: data})
	})
}

// split returns the columns in a message's row, or a description of the error.
func (l *log) split(number int64, row []byte) (topic, time int64, data []byte, wrong string) {
	var v [len(messageColumns)]value
	if wrong = valuesOf(number, row, l.columns[:], v[:]); wrong != "" {
		return 0, 0, nil, wrong
	}
	for i, ok := range []bool{v[0].kind == integer, v[1].kind == integer, v[2].kind == blob || v[2].kind == text} {
		if !ok {
			return 0, 0, nil, "another kind in " + messageColumns[i]
		}
	}
	return v[0].number, v[1].number, v[2].data, ""
}

func numbered(message int64) string { return "message " + strconv.FormatInt(message, 10) }

// wrong returns the error for a row with an invalid value.
func (l *log) wrong(what, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "rosbag2", Path: l.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: what, Got: got, Want: want}
}

// Message returns the bytes of one message.
func (l *log) Message(ctx context.Context, at topics.At) (data []byte, err error) {
	wrong := "none"
	err = l.messages.rows(ctx, at.Offset, at.Offset, nil, func(number int64, row []byte) error {
		var bytes []byte
		if _, _, bytes, wrong = l.split(number, row); wrong == "" {
			data = append([]byte{}, bytes...)
		}
		return errFound
	})
	if err != nil && !errors.Is(err, errFound) {
		return nil, err
	}
	if data == nil {
		return nil, l.wrong(numbered(at.Offset), wrong, "a message")
	}
	return data, nil
}
