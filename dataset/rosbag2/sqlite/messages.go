package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/topics"
)

// unreadable is the damage where pages are gone.
const unreadable = "stretches of messages that cannot be read"

// mostStretches is how many stretches of a part may be broken before the rest of it is given up.
const mostStretches = 100

// bounds returns the least and the greatest number of a part's messages.
func (l *log) bounds(part int) (from, to int64) {
	each := (uint64(l.last) - uint64(l.first)) / uint64(l.parts)
	from = l.first + int64(each*uint64(part))
	if part == l.parts-1 {
		return from, l.last
	}
	return from, from + int64(each) - 1
}

// Each reads a part. Stretches of messages that SQLite cannot reach are damage.
func (l *log) Each(ctx context.Context, part int, damage *dataset.Damages, use func(topics.Message) error) error {
	from, to := l.bounds(part)
	for stretches := 0; from <= to; stretches++ {
		next, bad, err := l.stretch(ctx, part, from, to, damage, use)
		if err != nil || bad == nil {
			return err
		}
		after, ok := to, false
		if stretches < mostStretches && next < to {
			if after, ok, err = l.after(ctx, next, to); err != nil {
				return err
			}
		}
		lost := after
		if ok {
			lost--
		}
		bad.Msg = fmt.Sprintf("messages %d to %d", next, lost)
		damage.Add(unreadable, 0, bad)
		if !ok {
			return nil
		}
		from = after
	}
	return nil
}

// stretch reads messages up to the first that SQLite cannot reach, and returns the number that it may have and what SQLite says.
func (l *log) stretch(ctx context.Context, part int, from, to int64, damage *dataset.Damages, use func(topics.Message) error) (next int64, bad *dataset.FormatError, err error) {
	rows, err := l.db.QueryContext(ctx, `SELECT rowid, topic_id, timestamp, data FROM messages WHERE rowid BETWEEN ? AND ? ORDER BY rowid`, from, to)
	next = from
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var id, topic, time int64
			var data sql.RawBytes
			scan := rows.Scan(&id, &topic, &time, &data)
			if id < next || id > to {
				err = errors.New("numbers out of order") // as in a tree whose pages lead back
				break
			}
			channel, ok := l.numbers[topic]
			switch {
			case scan != nil:
				damage.Add("messages of a wrong kind", 0, l.wrong(id, scan.Error(), "an integer for topic_id and timestamp, and a blob"))
			case !ok:
				damage.Add("messages of a topic that there is not", int64(len(data)), l.wrong(id, "topic_id "+strconv.FormatInt(topic, 10), "one of the table topics"))
			default:
				if err := use(topics.Message{Channel: channel, Log: time, Publish: time, At: topics.At{Part: part, Offset: id}, Data: data}); err != nil {
					return next, nil, err
				}
			}
			if id == to {
				return to, nil, nil
			}
			next = id + 1
		}
		if err == nil {
			err = rows.Err()
		}
	}
	if err == nil {
		return next, nil, nil
	}
	bad, ok := dataset.AsDamage(l.broken(ctx, "", err))
	if !ok {
		return next, nil, l.broken(ctx, "", err)
	}
	return next, bad, nil
}

func (l *log) wrong(id int64, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "rosbag2", Path: l.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: "message " + strconv.FormatInt(id, 10), Got: got, Want: want}
}

// next returns the least number of a message from one number to another, if there is such, and whether SQLite could tell.
func (l *log) next(ctx context.Context, from, to int64) (at int64, found, told bool, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT rowid FROM messages WHERE rowid BETWEEN ? AND ? ORDER BY rowid LIMIT 1`, from, to).Scan(&at)
	switch {
	case err == nil:
		return at, at >= from && at <= to, true, nil
	case errors.Is(err, sql.ErrNoRows):
		return 0, false, true, nil
	}
	if bad := l.broken(ctx, "", err); bad != nil {
		if _, ok := dataset.AsDamage(bad); !ok {
			return 0, false, false, bad
		}
	}
	return 0, false, false, nil
}

// after returns the least number of a message behind one that cannot be reached, by steps that double and then by halves: log2 of the gap's length
// queries. Where there is none up to the last number, it returns that.
func (l *log) after(ctx context.Context, broken, last int64) (at int64, ok bool, err error) {
	low, high := broken, last
	for step := uint64(1); ; step *= 2 {
		if step >= min(1<<62, uint64(last)-uint64(broken)) {
			high, step = last, 0
		} else {
			high = broken + int64(step)
		}
		_, _, told, err := l.next(ctx, high, last)
		if err != nil {
			return 0, false, err
		}
		if told {
			break
		}
		if low = high; step == 0 {
			return last, false, nil
		}
	}
	for uint64(high)-uint64(low) > 1 {
		middle := low + int64((uint64(high)-uint64(low))/2)
		_, _, told, err := l.next(ctx, middle, last)
		if err != nil {
			return 0, false, err
		}
		if told {
			high = middle
		} else {
			low = middle
		}
	}
	at, ok, _, err = l.next(ctx, high, last)
	if !ok {
		at = last
	}
	return at, ok, err
}

// reachable returns the least and the greatest number of the messages that can be reached, where SQLite cannot tell because of what is broken. If that
// is none it is an error.
func (l *log) reachable(ctx context.Context, broken error) (first, last int64, err error) {
	first, ok, told, err := l.next(ctx, math.MinInt64, math.MaxInt64)
	if err == nil && !told {
		first, ok, err = l.after(ctx, 0, math.MaxInt64)
	}
	if err != nil {
		return 0, 0, err
	}
	if !ok {
		return 0, 0, broken
	}
	low, high := first, int64(math.MaxInt64)
	for uint64(high)-uint64(low) > 1 {
		middle := low + int64((uint64(high)-uint64(low))/2)
		at, ok, _, err := l.next(ctx, middle, math.MaxInt64)
		switch {
		case err != nil:
			return 0, 0, err
		case ok && at >= high: // as in a tree that is broken in its midst
			return first, at, nil
		case ok:
			low = at
		default:
			high = middle
		}
	}
	return first, low, nil
}

// Message returns the bytes of one message.
func (l *log) Message(ctx context.Context, at topics.At) (data []byte, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT data FROM messages WHERE rowid = ?`, at.Offset).Scan(&data)
	if err != nil {
		return nil, l.broken(ctx, "message "+strconv.FormatInt(at.Offset, 10), err)
	}
	return data, nil
}
