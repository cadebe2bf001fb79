package ulog

import (
	"bytes"
	"context"
	"io"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/storage"
)

// Options are the options of package dataset. An unknown file version or flag is an error even without Strict.
type Options = dataset.Options

// Log is the content of a file. All lists are in file order; times are nanoseconds on the recorder's clock.
type Log struct {
	// Episode has the streams, the notes and the recorder's dropouts.
	dataset.Episode
	Version    int
	Start      int64 // the header's timestamp
	Info       []Info
	MultiInfo  []MultiInfo
	Parameters []Parameter // initial values, then each change
	Defaults   []Default
	Messages   []Message
	// Unsubscribed lists the streams that the recorder announced to stop logging.
	Unsubscribed []string
	Syncs        int // synchronisation messages
	Unknown      int // messages of types outside the format's description, which readers must skip
}

// Info is a fact about the log, such as sys_name. Value is a string for text (char[n]), int64, uint64, float64 or bool for a single
// number, and the recorded bytes ([]byte) for any other type.
type Info struct {
	Name, Type string
	Value      any
}

// MultiInfo is a fact in several parts, such as a console's output: one value per part.
type MultiInfo struct {
	Name, Type string
	Values     [][]byte // as recorded; continued parts are joined
}

// Parameter is a setting of the vehicle, such as MC_ROLL_P. Time is the start of the log, or the latest timestamp before a change.
type Parameter struct {
	Name, Type string
	Value      float64 // exact: parameters are float or int32_t
	Time       int64
}

// Default is the default value of a parameter, for the system, for the configuration, or both.
type Default struct {
	Name, Type            string
	Value                 float64
	System, Configuration bool
}

// Message is a logged line of text. Level is the format's digit, '0' (emergency) to '7' (debug).
type Message struct {
	Time   int64
	Level  byte
	Tagged bool
	Tag    uint16
	Text   string
}

// InfoValue returns the last value of the Info with a name, or nil.
func (l *Log) InfoValue(name string) any {
	for i := len(l.Info) - 1; i >= 0; i-- {
		if l.Info[i].Name == name {
			return l.Info[i].Value
		}
	}
	return nil
}

// Parameter returns the initial value of a parameter, or false if the log lacks it.
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

// ReadFile reads a file, and gives the episode the file's name. A *dataset.FormatError contains the path. The file is read in
// parts, so ReadFile needs little more memory than the log that it returns.
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
	err = dataset.InFile(err, path)
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

// Parse reads the bytes of a file, and keeps no reference to them.
func Parse(data []byte, opt Options) (*Log, error) {
	return parseFile(inMemory(data), opt)
}

func parseFile(file *window, opt Options) (*Log, error) {
	p := &parser{file: file, opt: opt}
	return p.parse()
}
