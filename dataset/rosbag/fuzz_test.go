package rosbag

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
)

// seedlings are bags of every compression, closed and not. The faults are in what comes after the header, and some in that.
func seedlings(t testing.TB) (list []mutate.Seed) {
	for _, compression := range []string{"none", "lz4"} {
		w, _ := two(compression)
		list = append(list, mutate.Seed{Name: compression + " open", Data: bytes.Clone(w.b), From: len(magic) + 4096})
		list = append(list, mutate.Seed{Name: compression, Data: w.close(), To: len(magic) + 100}, mutate.Seed{Name: compression + " chunks", Data: w.b, From: len(magic) + 4096})
	}
	for _, name := range []string{"small-none.bag", "small-bz2.bag", "small-lz4.bag"} {
		b := filetest.Read(t, "testdata/"+name)
		if name == "small-bz2.bag" { // the first chunk, since to unpack one takes 4 MB
			b = b[:6000]
		}
		list = append(list, mutate.Seed{Name: name, Data: b, From: len(magic) + 4096})
	}
	return list
}

func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	// Each time that a chunk is unpacked takes 4 MB, of bz2 and of lz4 whose blocks have 4 MB.
	mutate.Run(t, mutate.Plan{Seeds: seedlings(t), Few: 1000, Most: 256 << 20, Try: func(m mutate.Mutant) { exercise(t, m.Data) }})
}

func FuzzRead(f *testing.F) {
	for _, s := range seedlings(f) {
		f.Add(s.Data)
	}
	f.Fuzz(exercise)
}

// Whatever a file holds: no panic, an error that is typed, streams that are sound; and a message that was there is there again.
func exercise(t *testing.T, data []byte) {
	for _, opt := range []dataset.Options{{Strict: true}, {}} {
		read := func(opt dataset.Options) (dataset.Dataset, error) {
			return fromFile(context.Background(), inMemory(data), "x.bag", opt)
		}
		if _, wrong := mutate.Read(read, opt); wrong != nil {
			t.Fatal(wrong)
		}
	}
	b, err := open(context.Background(), inMemory(data), "x.bag")
	if err != nil {
		if bytes.HasPrefix(data, []byte(magic)) && !errors.Is(err, dataset.ErrUnsupported) {
			t.Fatalf("a broken bag is refused: %v", err)
		}
		return
	}
	var damage dataset.Notes
	for i := range b.Parts() {
		n := 0
		if err := b.Each(context.Background(), i, &damage, func(m topics.Message) error {
			if n++; n > 3 {
				return nil
			}
			again, err := b.Message(context.Background(), m.At)
			if err != nil || !bytes.Equal(m.Data, again) {
				t.Fatalf("%d bytes, and then %d, error %v", len(m.Data), len(again), err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
}
