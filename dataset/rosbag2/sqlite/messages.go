package sqlite

import (
	"context"
	"errors"
	"math"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
)

// bounds returns the least and the greatest number of a part's messages. The first and the last have what may be broken beyond those that can be reached.
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

// Each reads a part.
func (l *log) Each(ctx context.Context, part int, damage *dataset.Notes, use func(topics.Message) error) error {
	from, to := l.bounds(part)
	return l.messages.rows(ctx, from, to, damage, func(number int64, row []byte) error {
		topic, time, data, got := l.split(row)
		channel, ok := l.numbers[topic]
		switch {
		case got != "":
			damage.AddDamage(dataset.CodeMessageType, int64(len(row)), l.wrong(number, got, "integers for topic_id and timestamp, and a blob"))
			return nil
		case !ok:
			damage.AddDamage(dataset.CodeMessageWithoutTopic, int64(len(row)), l.wrong(number, "topic_id "+strconv.FormatInt(topic, 10), "one of the table topics"))
			return nil
		}
		return use(topics.Message{Channel: channel, Log: time, Publish: time, At: topics.At{Part: part, Offset: number}, Data: data})
	})
}

// split returns what a message's row has, or what is wrong with it.
func (l *log) split(row []byte) (topic, time int64, data []byte, wrong string) {
	r, ok := recordOf(row)
	if !ok {
		return 0, 0, nil, "a row whose header is longer than it is"
	}
	found := 0
	for i := 0; found < len(l.at); i++ {
		kind, number, bytes, ok := r.column()
		if !ok {
			return 0, 0, nil, "a row that ends before its columns do"
		}
		switch i {
		case l.at[0]:
			found++
			topic = number
			ok = kind == integer
		case l.at[1]:
			found++
			time = number
			ok = kind == integer
		case l.at[2]:
			found++
			data = bytes
			ok = kind == blob || kind == text
		}
		if !ok {
			return 0, 0, nil, "another kind in column " + strconv.Itoa(i)
		}
	}
	return topic, time, data, ""
}

func (l *log) wrong(number int64, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "rosbag2", Path: l.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: "message " + strconv.FormatInt(number, 10), Got: got, Want: want}
}

// Message returns the bytes of one message.
func (l *log) Message(ctx context.Context, at topics.At) (data []byte, err error) {
	wrong := "none"
	err = l.messages.rows(ctx, at.Offset, at.Offset, nil, func(_ int64, row []byte) error {
		var bytes []byte
		if _, _, bytes, wrong = l.split(row); wrong == "" {
			data = append([]byte{}, bytes...)
		}
		return errFound
	})
	if err != nil && !errors.Is(err, errFound) {
		return nil, err
	}
	if data == nil {
		return nil, l.wrong(at.Offset, wrong, "a message")
	}
	return data, nil
}
