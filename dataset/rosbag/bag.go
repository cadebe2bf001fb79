package rosbag

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/inorder"
	"github.com/robocache/robocache/internal/logs/message"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

// magic is the first line of a bag.
const magic = "#ROSBAG V2.0\n"

// versioned lists the texts that begin bags of any version, before the version number.
var versioned = []string{"#ROSBAG V", "#ROSRECORD V"}

// bag reads the messages of a bag file. It implements topics.Log: a channel is a connection (one publisher's topic and type).
type bag struct {
	file storage.File
	path string

	channels []topics.Channel
	byConn   map[uint32]int // the channel of a connection
	conns    []uint32       // the connection of a channel
	counts   map[uint32]int // messages per connection, from the index, or else from the chunks
	parts    []part
	damage   dataset.Notes // in the whole file: its index, and bytes between chunks

	buffers sync.Pool // of *buffers
	cache   cache
	// raw are the positions in the file of parts that are not compressed; 0 before they are read.
	raw []atomic.Int64
}

// part is a byte range of the file that is read at once: a chunk, or messages outside chunks, for example at the end of a bag that was not
// closed.
type part struct {
	at, end int64 // byte range of the chunk's record or of the messages; a chunk may end earlier
	bare    bool  // outside chunks
	open    bool  // a chunk with an unknown end: it was being written, or the file ends in it
}

// open reads a bag's connections and the positions of its parts. The bag keeps the file, but does not close it.
func open(ctx context.Context, file storage.File, path string) (*bag, error) {
	b := &bag{file: storage.Bound(ctx, file), path: path, byConn: map[uint32]int{}, counts: map[uint32]int{}}
	defer func() { b.file = file }() // which is read when ctx has ended
	b.cache.most = cacheBytes
	b.buffers.New = func() any { return new(buffers) }
	head, err := b.header()
	if err != nil {
		return nil, err
	}
	undefined := false // connections that chunks have to define
	if head.has == 0 || head.indexPos == 0 {
		b.lost(dataset.CodeNotClosed, 0, &dataset.FormatError{Offset: int64(len(magic)), Kind: dataset.ErrTruncated, Msg: "index_pos", Got: "0: the bag was not closed", Want: "where its index is"})
	} else if undefined, err = b.index(head); err != nil {
		if _, ok := dataset.AsBroken(err); !ok {
			return nil, err
		}
	}
	if b.parts == nil && b.damage != nil {
		if err := b.scan(ctx); err != nil {
			return nil, err
		}
		undefined = true
	}
	b.raw = make([]atomic.Int64, len(b.parts))
	if undefined {
		if err := b.inChunks(ctx); err != nil {
			return nil, err
		}
	}
	b.inOrder()
	return b, nil
}

// inOrder sorts the channels by connection number, so that their order does not depend on the order of reading.
func (b *bag) inOrder() {
	conns := make([]uint32, 0, len(b.byConn))
	for conn := range b.byConn {
		conns = append(conns, conn)
	}
	slices.Sort(conns)
	channels := make([]topics.Channel, len(conns))
	for i, conn := range conns {
		channels[i] = b.channels[b.byConn[conn]]
		b.byConn[conn] = i
	}
	b.channels = channels
	b.conns = conns
}

// lost counts damage that is found when the bag is opened: bytes, with the error that explains them.
func (b *bag) lost(code dataset.Code, bytes int64, bad *dataset.FormatError) {
	b.damaged(&b.damage, code, bytes, bad)
}

func (b *bag) damaged(d *dataset.Notes, code dataset.Code, bytes int64, bad *dataset.FormatError) {
	bad.Format, bad.Path = "rosbag", b.path
	d.AddDamage(code, bytes, bad)
}

// header returns the bag's header record. If the header is cut or broken, it counts damage and returns a record without fields.
func (b *bag) header() (record, error) {
	var r record
	fail := func(at int64, kind error, msg, got, want string) (record, error) {
		return record{}, &dataset.FormatError{Format: "rosbag", Path: b.path, Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
	}
	head := make([]byte, min(4096, b.file.Size()))
	if n, err := b.file.ReadAt(head, 0); n < len(head) {
		return r, readError(err)
	}
	if !bytes.HasPrefix(head, []byte(magic)) {
		line, _, _ := bytes.Cut(head[:min(len(head), 40)], []byte("\n"))
		for _, v := range versioned {
			if version, ok := bytes.CutPrefix(line, []byte(v)); ok && string(version) != "2.0" {
				return fail(0, dataset.ErrUnsupported, "version", fmt.Sprintf("%.10q", version), "2.0, which `rosbag fix` and `rosbag migrate` of ROS 1 write")
			}
		}
		return fail(0, dataset.ErrCorrupt, "first line", fmt.Sprintf("%q", line), fmt.Sprintf("%q", magic))
	}
	_, _, wrong, cut := r.whole(head[len(magic):]) // the padding may lie after head
	switch {
	case wrong == "" && r.op == opHeader, cut && r.has != 0:
		if e := string(r.encryptor); e != "" && e != "rosbag/NoEncryptor" {
			return fail(int64(len(magic)), dataset.ErrUnsupported, "encryption", fmt.Sprintf("%.60q", e), "none: a bag that `rosbag decrypt` wrote")
		}
		return r, nil
	case wrong == "":
		wrong = fmt.Sprintf("a record with op %d", r.op)
	}
	kind := dataset.ErrCorrupt
	if cut {
		kind = dataset.ErrTruncated
	}
	b.lost(dataset.CodeHeaderBroken, 0, &dataset.FormatError{Offset: int64(len(magic)), Kind: kind, Msg: "bag header", Got: wrong})
	return record{}, nil
}

// readError returns io.ErrUnexpectedEOF if a read ended early, because the file became shorter. Other errors stay.
func readError(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// connect adds the channel of a connection record. A broken or contradictory record is counted as damage.
func (b *bag) connect(damage *dataset.Notes, at int64, r *record, data []byte) {
	c := topics.Channel{Topic: string(r.topic), Encoding: "ros1", Schema: message.Schema{Encoding: "ros1msg"}, Metadata: map[string]string{}}
	whole := fieldsOf(data, func(name, value []byte) {
		switch string(name) {
		case "type":
			c.Schema.Name = string(value)
		case "message_definition":
			c.Schema.Data = bytes.Clone(value)
		case "topic": // by which the publisher knows it: before remapping
		default:
			c.Metadata[string(name)] = string(value)
		}
	})
	bad := &dataset.FormatError{Offset: at, Kind: dataset.ErrCorrupt, Msg: fmt.Sprintf("connection %d of topic %s", r.conn, c.Topic)}
	if !whole || c.Schema.Name == "" {
		bad.Got, bad.Want = "fields that are not whole", "a type and its definition"
		b.damaged(damage, dataset.CodeRecordBroken, int64(len(data)), bad)
		return
	}
	i, ok := b.byConn[r.conn]
	if !ok {
		b.byConn[r.conn] = len(b.channels)
		b.channels = append(b.channels, c)
		return
	}
	if known := b.channels[i]; known.Topic != c.Topic || known.Schema.Name != c.Schema.Name {
		bad.Got, bad.Want = c.Schema.Name, fmt.Sprintf("%s of topic %s, as before", known.Schema.Name, known.Topic)
		b.damaged(damage, dataset.CodeTopicRedefined, int64(len(data)), bad)
	}
}

// inChunks adds the connections that the chunks define.
func (b *bag) inChunks(ctx context.Context) error {
	type found struct {
		at   int64
		r    record
		data []byte
	}
	type result struct {
		list []found
		err  error
	}
	workers := runtime.GOMAXPROCS(0)
	for _, p := range inorder.Each(ctx, len(b.parts), workers, 2*workers, func(result) int { return 2 * workers }, func(ctx context.Context, i int) (res result) {
		var ignored dataset.Notes // Each finds it again
		res.err = b.walk(ctx, i, &ignored, func(at int64, r *record, data []byte) error {
			if r.op == opConnection {
				c := *r
				c.topic = bytes.Clone(r.topic)
				res.list = append(res.list, found{at, c, bytes.Clone(data)})
			}
			return nil
		})
		return res
	}) {
		if p.err != nil {
			return p.err
		}
		for _, f := range p.list {
			b.connect(&b.damage, f.at, &f.r, f.data)
		}
	}
	return nil
}

// Channels returns the connections, sorted by their numbers.
func (b *bag) Channels() []topics.Channel { return b.channels }

// Count returns the number of messages on a channel, from the index.
func (b *bag) Count(channel int) int {
	return b.counts[b.conns[channel]]
}

// Parts returns the number of chunks and of message ranges outside chunks.
func (b *bag) Parts() int { return len(b.parts) }

// Each calls use for each message in a part. Damaged records are counted in damage, and are no error.
func (b *bag) Each(ctx context.Context, i int, damage *dataset.Notes, use func(m topics.Message) error) error {
	return b.walk(ctx, i, damage, func(at int64, r *record, data []byte) error {
		if r.op != opMessage {
			return nil
		}
		channel, ok := b.byConn[r.conn]
		if !ok {
			b.damaged(damage, dataset.CodeMessageWithoutTopic, int64(len(data)), &dataset.FormatError{
				Offset: b.parts[i].at, Kind: dataset.ErrCorrupt, Msg: "message", Got: fmt.Sprintf("connection %d", r.conn), Want: "one that the bag defines",
			})
			return nil
		}
		t := r.time()
		return use(topics.Message{Channel: channel, Log: t, Publish: t, At: topics.At{Part: i, Offset: at}, Data: data})
	})
}
