package rosbag2

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/dataset/rosbag2/internal/store"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

// mostOpen is the number of unused files in a bag that stay open.
const mostOpen = 8

// opened is a file in the bag. It has its own channel numbers, and the corresponding numbers in the bag that used it last, because
// each reading makes a new bag.
type opened struct {
	store.File
	mu      sync.Mutex
	of      *bag
	numbers []int
}

// bag is the log of all files of a recording. It implements topics.Log.
type bag struct {
	cache    *openfiles.Cache[*opened]
	messages *zstd.Decoder
	paths    []string
	parts    []part
	metadata *metadata // nil if there is none
	counts   map[typed]int
	distro   string
	define   func(name string) string
	said     map[string]string // descriptions in the files; the first file with a key counts

	mu       sync.Mutex
	channels []topics.Channel
	known    map[string]int // the channels by all their properties
	tallies  []tally        // of the parts that were read
}

// typed is a topic with the type of its messages.
type typed struct{ topic, kind string }

// describe keeps the content of metadata.yaml, if there is one.
func (b *bag) describe(m *metadata) {
	if b.metadata = m; m == nil {
		return
	}
	b.distro, b.counts = cmp.Or(b.distro, m.Distro), map[typed]int{}
	for _, t := range m.Topics {
		of := typed{t.Topic.Name, t.Topic.Type}
		if _, known := b.counts[of]; !known {
			b.counts[of] = int(t.Count)
		}
	}
}

// tally has the message counts and the time range of a part.
type tally struct {
	counts      map[int]int // messages by channel
	first, last int64       // log times, ns; unset without messages
}

func (t *tally) add(m topics.Message) {
	if len(t.counts) == 0 {
		t.counts, t.first, t.last = map[int]int{}, m.Log, m.Log
	}
	t.counts[m.Channel]++
	t.first, t.last = min(t.first, m.Log), max(t.last, m.Log)
}

// part identifies a part of the recording: the file's index, and the index of the part in that file.
type part struct{ file, part int }

// newBag opens each file once. A broken file loses only itself, unless it is the only one.
func newBag(ctx context.Context, cache *openfiles.Cache[*opened], messages *zstd.Decoder, paths []string, damage *dataset.Notes) (*bag, error) {
	b := &bag{cache: cache, messages: messages, paths: paths, known: map[string]int{}, said: map[string]string{}}
	var first error
	good := 0
	for i, path := range paths {
		var found dataset.Notes
		f, err := cache.GetBy(path, func(string) (*opened, error) { return openFile(ctx, path, &found) })
		if err != nil {
			bad, ok := dataset.AsBroken(err)
			if !ok || ctx.Err() != nil {
				return nil, err
			}
			if first == nil {
				first = err
			}
			size := int64(0)
			if info, err := storage.Stat(ctx, path); err == nil {
				size = info.Size
			}
			damage.AddDamage(dataset.CodeFileLost, size, bad)
			continue
		}
		good++
		damage.Join(found)
		b.distro = cmp.Or(b.distro, f.File.Distro())
		for key, value := range f.File.Said() {
			b.said[key] = cmp.Or(b.said[key], value)
		}
		for k := range f.File.Parts() {
			b.parts = append(b.parts, part{i, k})
		}
		b.number(f.File, -1)
		cache.Give(f)
	}
	if good == 0 && first != nil {
		return nil, first
	}
	b.tallies = make([]tally, len(b.parts))
	return b, nil
}

// openFile opens a file by its first bytes, or if these are broken, by its extension. A compressed file is opened by the rest of
// its name.
func openFile(ctx context.Context, path string, damage *dataset.Notes) (_ *opened, err error) {
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	kind, compressed := kindOf(path)
	if head, err := begins(file); err != nil {
		return nil, err
	} else if compressed = compressed || head == compressedName; compressed {
		plain, err := decompress(ctx, path, file, damage)
		if err != nil {
			return nil, err
		}
		if err := file.Close(); err != nil {
			return nil, errors.Join(err, plain.Close())
		}
		file = plain
	}
	head, err := begins(file)
	if err != nil {
		return nil, err
	}
	kind = cmp.Or(head, kind)
	open := store.Of(kind)
	if open == nil {
		bad := &dataset.FormatError{Format: "rosbag2", Path: path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "file of a bag", Got: cmp.Or(kind, "one of no kind"), Want: ".db3 or .mcap"}
		if kind == ".db3" {
			bad.Want = "an import for dataset/rosbag2/sqlite, which this program does without"
		}
		return nil, bad
	}
	beside := func(ctx context.Context, suffix string) (storage.File, error) {
		if compressed {
			return nil, nil
		}
		f, err := storage.Open(ctx, path+suffix)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return f, err
	}
	f, err := open(ctx, store.Source{Path: path, File: file, Beside: beside}, damage)
	if err != nil {
		return nil, err
	}
	return &opened{File: f}, nil
}

// begins returns the extension that fits a file's first bytes, for example ".db3"; empty if the format is unknown.
func begins(f storage.File) (string, error) {
	head := make([]byte, len(sqliteMagic))
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	for extension, magic := range map[string]string{".db3": sqliteMagic, ".mcap": mcap.Magic[:5], compressedName: zstdMagic} {
		if strings.HasPrefix(string(head[:n]), magic) {
			return extension, nil
		}
	}
	return "", nil
}

// Count returns the number of messages on a channel, from its topic in metadata.yaml.
func (b *bag) Count(channel int) int {
	c := &b.Channels()[channel]
	return b.counts[typed{c.Topic, c.Schema.Name}]
}

// number returns the bag's number for a file's channel. Equal channels share a number. Channel -1 numbers all channels in the file.
func (b *bag) number(f *opened, channel int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of != b {
		f.of, f.numbers = b, nil
	}
	if channel < 0 || channel >= len(f.numbers) {
		b.mu.Lock()
		for _, c := range f.Channels()[len(f.numbers):] {
			key := fmt.Sprintf("%q %q %q %q %q", c.Topic, c.Encoding, c.Schema.Name, c.Schema.Encoding, c.Schema.Data)
			n, ok := b.known[key]
			if !ok {
				n = len(b.channels)
				b.known[key], b.channels = n, append(b.channels, c)
			}
			f.numbers = append(f.numbers, n)
		}
		b.mu.Unlock()
	}
	if channel < 0 {
		return -1
	}
	return f.numbers[channel]
}

// Channels returns the channels of all files.
func (b *bag) Channels() []topics.Channel {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.channels[:len(b.channels):len(b.channels)]
}

func (b *bag) Parts() int { return len(b.parts) }

// file returns file i, opened if needed. The caller releases it after use.
func (b *bag) file(ctx context.Context, i int) (*openfiles.File[*opened], error) {
	return b.cache.GetBy(b.paths[i], func(path string) (*opened, error) { return openFile(ctx, path, new(dataset.Notes)) })
}

// Each reads a part, and decompresses messages.
func (b *bag) Each(ctx context.Context, number int, damage *dataset.Notes, use func(topics.Message) error) error {
	p := b.parts[number]
	f, err := b.file(ctx, p.file)
	if err != nil {
		return err
	}
	defer b.cache.Give(f)
	var found dataset.Notes
	var buf []byte
	var seen tally
	err = f.File.Each(ctx, p.part, &found, func(m topics.Message) error {
		m.Channel, m.At.Part = b.number(f.File, m.Channel), number
		seen.add(m)
		if isCompressed(m.Data) {
			out, err := decompressMessage(b.messages, m.Data, buf)
			if err != nil {
				bad, ok := dataset.AsBroken(err)
				if !ok {
					return err
				}
				found.AddDamage(dataset.CodeMessageCompression, int64(len(m.Data)), bad)
				return nil
			}
			m.Data, buf = out, out
		}
		return use(m)
	})
	found.SetPath(b.paths[p.file])
	damage.Join(found)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tallies[number] = seen // equal if the part is read again
	return err
}

// total adds up all parts, and counts the messages by topic.
func (b *bag) total() (all tally, byTopic map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	byTopic = map[string]int{}
	for _, t := range b.tallies {
		if len(t.counts) == 0 {
			continue
		}
		if len(byTopic) == 0 {
			all.first, all.last = t.first, t.last
		}
		all.first, all.last = min(all.first, t.first), max(all.last, t.last)
		for channel, n := range t.counts {
			byTopic[b.channels[channel].Topic] += n
		}
	}
	return all, byTopic
}

// Message returns the bytes of one message, decompressed.
func (b *bag) Message(ctx context.Context, at topics.At) ([]byte, error) {
	p := b.parts[at.Part]
	f, err := b.file(ctx, p.file)
	if err != nil {
		return nil, err
	}
	defer b.cache.Give(f)
	data, err := f.File.Message(ctx, topics.At{Part: p.part, Offset: at.Offset})
	if err != nil || !isCompressed(data) {
		return data, err
	}
	return decompressMessage(b.messages, data, nil)
}
