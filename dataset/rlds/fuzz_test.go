package rlds

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset"
)

func asFormat(err error, bad **dataset.FormatError) bool { return errors.As(err, bad) }

// Whatever a file of records holds: no panic, errors that are typed, streams that are sound.
func FuzzRecords(f *testing.F) {
	features, err := os.ReadFile("testdata/kinds/features.json")
	if err != nil {
		f.Fatal(err)
	}
	dir := folder(f, string(features), 1, nil)
	f.Add(examples(2))
	f.Add(gzipped(examples(2)))
	f.Add(deflated(examples(2))[:40])
	for _, name := range []string{"kinds-train.tfrecord-00000-of-00002", "kinds-train.tfrecord-00001-of-00002"} {
		b, err := os.ReadFile("testdata/kinds/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(filepath.Join(dir, onlyShard), b, 0o600); err != nil {
			t.Fatal(err)
		}
		all(t, dir, Options{})
		all(t, dir, Options{Strict: true})
	})
}

// The same of a tf.Example, whose record is whole.
func FuzzExample(f *testing.F) {
	features, err := readFeatures("testdata/kinds/features.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain.bytes())
	if s, err := Open(context.Background(), "testdata/kinds", Options{}); err == nil {
		for i := range s.shards[0].records {
			if b, err := s.shards[0].read(context.Background(), i, nil); err == nil {
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { sound(t, features, b) })
}

// sound builds an episode of a record: the error is typed, or streams are sound and a strict reader has no damage.
func sound(t *testing.T, features []*leaf, b []byte) {
	for _, strict := range []bool{false, true} {
		s := &Set{leaves: features, slots: numbered(features), task: taskOf(features), clock: clockOf(features), opt: Options{Strict: strict}}
		e := &dataset.Episode{Attributes: dataset.Attributes{Other: map[string]string{}}}
		err := (&builder{set: s, shard: &shard{}, data: b, room: new(room), e: e}).build()
		var bad *dataset.FormatError
		if err != nil && !errors.As(err, &bad) {
			t.Fatalf("%v", err)
		}
		if err == nil && strict && e.Notes.Damage() != nil {
			t.Fatalf("strict, and damage %v", e.Notes.Damage())
		}
		for _, st := range e.Streams {
			if err := st.Check(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
