package ulog

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// Options are dataset's. A file version or a flag that this reader does not know is an error whatever they say.
type Options = dataset.Options

// Log is a file's content. Everything is in file order; times are nanoseconds of the recorder's clock.
type Log struct {
	// Streams, what was left out and the recorder's dropouts.
	dataset.Episode
	Version    int
	Start      int64 // the header's timestamp
	Info       []Info
	MultiInfo  []MultiInfo
	Parameters []Parameter // the initial ones, then each change
	Defaults   []Default
	Messages   []Message
	// Unsubscribed lists the streams that the recorder said it would no longer log.
	Unsubscribed []string
	Syncs        int // synchronisation messages
	Unknown      int // messages of a type that is not in the format's description, which asks readers to skip them
}

// Info is a fact about the log. Value is a string for text (char[n]), int64, uint64, float64 or bool for a single
// number, and the bytes as recorded ([]byte) for any other type.
type Info struct {
	Name, Type string
	Value      any
}

// MultiInfo is a fact given in parts, such as a console's output: one value for each time it was given.
type MultiInfo struct {
	Name, Type string
	Values     [][]byte // as recorded; continued parts are joined
}

// Parameter is a setting of the vehicle. Time is the start of the log, or the latest timestamp before a change.
type Parameter struct {
	Name, Type string
	Value      float64 // exact: parameters are float or int32_t
	Time       int64
}

// Default is the default of a parameter, for the system, for the configuration, or both.
type Default struct {
	Name, Type            string
	Value                 float64
	System, Configuration bool
}

// Message is a line of text that was logged. Level is the letter of the format, '0' (emergency) to '7' (debug).
type Message struct {
	Time   int64
	Level  byte
	Tagged bool
	Tag    uint16
	Text   string
}

// InfoValue returns the value of an Info by name, the last one given, or nil.
func (l *Log) InfoValue(name string) any {
	for i := len(l.Info) - 1; i >= 0; i-- {
		if l.Info[i].Name == name {
			return l.Info[i].Value
		}
	}
	return nil
}

// Parameter returns the initial value of a parameter, and false if the log has none of that name.
func (l *Log) Parameter(name string) (float64, bool) {
	for _, p := range l.Parameters {
		if p.Name == name {
			return p.Value, true
		}
	}
	return 0, false
}

func init() {
	dataset.Register(dataset.Format{
		Name: "ulog", Extensions: []string{".ulg"},
		Match: func(head []byte) bool { return bytes.HasPrefix(head, []byte(fileMagic)) },
		Open: func(_ context.Context, path string, opt Options) (dataset.Dataset, error) {
			return dataset.Single("ulog", path, func(ctx context.Context) (*dataset.Episode, error) {
				log, err := readPath(ctx, path, opt)
				if err != nil {
					return nil, err
				}
				return &log.Episode, nil
			}), nil
		},
	})
}

// ReadFile reads a file, whose name becomes the episode's. A *dataset.FormatError carries its path. It takes little more memory than the log that it
// returns: the file is read in parts.
func ReadFile(path string, opt Options) (*Log, error) {
	return readPath(context.Background(), path, opt)
}

func readPath(ctx context.Context, path string, opt Options) (*Log, error) {
	file, err := storage.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	log, err := parseFile(&window{file: storage.Bound(ctx, file), size: int(file.Size())}, opt)
	var bad *dataset.FormatError
	if errors.As(err, &bad) {
		bad.Path = path
	}
	if log != nil {
		log.Name, log.Attributes.Source = dataset.BaseName(path), path
		log.Notes.SetPath(path)
	}
	return log, err
}

// Read reads all of r.
func Read(r io.Reader, opt Options) (*Log, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	return Parse(data, opt)
}

// Parse reads a file's bytes. It keeps no reference to them.
func Parse(data []byte, opt Options) (*Log, error) {
	return parseFile(inMemory(data), opt)
}

func parseFile(file *window, opt Options) (*Log, error) {
	p := &parser{file: file, opt: opt}
	return p.parse()
}
