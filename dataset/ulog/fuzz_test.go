package ulog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
)

// seedlings are logs of all kinds of messages, some of them broken.
func seedlings(t testing.TB) (list []mutate.Seed) {
	add := func(name string, b []byte) { list = append(list, mutate.Seed{Name: name, Data: b}) }
	add("small", small().b)
	add("names", newBuild(0, 0).format("a:uint8_t timestamp;char[3] c;double d;").subscribe(3, 1, "a").data(1, make([]byte, 12)).b)
	add("appended", newBuild(1, 0).put('B', flagBits(70, 80)).put('Z', make([]byte, 40)).b)
	add("later", newBuild(1, 0).put('A', uint16(0)).put('Z', "later").b)
	for _, name := range []string{"bad_length.ulg", "bad_key.ulg", "sample_log_small.ulg"} {
		b := filetest.Read(t, "testdata/"+name)
		add(name, b[:min(len(b), 16<<10)])
	}
	return list
}

func TestMutantsDoNoHarm(t *testing.T) {
	mutate.Run(t, mutate.Plan{Seeds: seedlings(t), Few: 3000, Most: 64 << 20, Try: func(m mutate.Mutant) { exercise(t, m.Data) }})
}

func FuzzRead(f *testing.F) {
	for _, s := range seedlings(f) {
		f.Add(s.Data)
	}
	for name, b := range bombs() {
		if name != "long names" && name != "short messages" && len(b) < 1<<16 {
			f.Add(b)
		}
	}
	f.Fuzz(exercise)
}

// Whatever a file holds: no panic, an error that is typed, and each byte after the header is in a message that was taken or in the damage.
func exercise(t *testing.T, data []byte) {
	for _, opt := range []Options{{Strict: true}, {}} {
		p := &parser{file: inMemory(data), opt: opt}
		log, err := p.parse()
		if err != nil {
			var bad *dataset.FormatError
			if !opt.Strict && len(data) >= headerSize && bytes.HasPrefix(data, []byte(fileMagic)) && !errors.Is(err, dataset.ErrUnsupported) {
				t.Fatalf("a broken log is refused: %v", err)
			}
			if log != nil || !errors.As(err, &bad) || bad.Offset < 0 || bad.Offset > int64(len(data)) {
				t.Fatalf("log %v, error %#v", log, err)
			}
			continue
		}
		if lost := log.Notes.LostBytes(); headerSize+int64(p.taken)+lost != int64(len(data)) {
			t.Fatalf("%d bytes taken, %d lost, of %d after the header; damage %v", p.taken, lost, len(data)-headerSize, log.Notes.Damage())
		}
		for _, s := range log.Streams {
			if s.Values.Dim(0) != len(s.Nanoseconds()) || s.Values.Dim(1) != len(s.Columns) || len(s.Nanoseconds()) == 0 {
				t.Fatalf("stream %s: %v, %d times, %d columns", s.Name, s.Values, len(s.Nanoseconds()), len(s.Columns))
			}
		}
	}
}
