package rlds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/openfiles"
	"github.com/robocache/robocache/storage"
)

// Options are the options of package dataset. Strict refuses broken data: a file that ends early, a missing shard, a record count
// that differs from dataset_info.json, a feature that disagrees with the number of steps. Rate overrides the rate of a well-known
// dataset.
type Options = dataset.Options

// Set is an open dataset. Its methods may be called from any goroutine.
type Set struct {
	name, path string
	opt        Options
	rate       float64 // steps per second; 0 if the clock counts steps
	info       dataset.Info
	absent     dataset.Note // about declared episodes that are missing
	damage     dataset.Notes
	leaves     []*leaf
	slots      map[string]int // slot numbers by feature name in a record
	task       *leaf          // the instruction; nil if there is none
	clock      *leaf          // the times of the steps; nil if there are none
	shards     []*shard
	len        int                           // episodes
	files      openfiles.Cache[storage.File] // shards; a few stay open
	closed     atomic.Bool
}

// room is reusable memory for building an episode; the episode keeps none of it. Without it, each record of several megabytes would
// become garbage.
type room struct {
	record []byte
	found  []feature
	parts  []part
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// rates holds the steps per second in well-known datasets, by name in dataset_info.json.
var rates = map[string]float64{
	"fractal20220817_data": 3, "kuka": 10, "language_table": 10,
	"bridge": 5, "bridge_dataset": 5, "bridge_orig": 5, "droid": 15, "droid_100": 15, "r2d2_faceblur": 15,
	"taco_play": 15, "jaco_play": 10, "viola": 20, "toto": 30, "berkeley_autolab_ur5": 5, "berkeley_cable_routing": 10, "berkeley_fanuc_manipulation": 10,
	"austin_buds_dataset_converted_externally_to_rlds": 20, "austin_sailor_dataset_converted_externally_to_rlds": 20,
	"austin_sirius_dataset_converted_externally_to_rlds": 20, "stanford_hydra_dataset_converted_externally_to_rlds": 10,
	"nyu_franka_play_dataset_converted_externally_to_rlds": 3, "ucsd_kitchen_dataset_converted_externally_to_rlds": 2, "utaustin_mutex": 20,
}

// maxOpen limits the unused shards that stay open.
const maxOpen = 16

// Open opens the folder of a version, the folder above it, where it takes the newest version, or a single record file next to
// features.json. It finds the records by their lengths, which takes one small read per record; a compressed file is read
// completely.
func Open(ctx context.Context, path string, opt Options) (*Set, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	plan, err := planOf(ctx, path, opt)
	if err != nil {
		return nil, err
	}
	leaves, err := readFeatures(storage.Join(plan.dir, featuresFile))
	if err != nil {
		return nil, err
	}
	plan.readLabels(leaves)
	s := &Set{name: plan.name, path: path, opt: opt, info: plan.info, leaves: leaves, slots: numbered(leaves), task: taskOf(leaves), clock: clockOf(leaves)}
	s.files.Format, s.files.Most = "rlds", maxOpen
	s.files.Open = func(path string) (storage.File, error) { return storage.Open(context.Background(), path) }
	s.info.Features, s.info.Facts = declared(leaves)
	known := rates[plan.name]
	if s.clock != nil {
		known = 0
	}
	if err := s.info.ChooseRate(opt.Rate, 0, known); err != nil {
		return nil, err
	}
	s.rate = s.info.Rate
	for _, split := range plan.splits {
		if err := s.openSplit(ctx, plan, split); err != nil {
			s.Close()
			return nil, err
		}
	}
	if s.absent.Count > 0 {
		s.absent.Code, s.absent.Subject = dataset.CodeEpisodesAbsent, infoFile
		s.info.Notes.Add(s.absent)
	}
	if len(s.shards) == 0 {
		return nil, formatError(dataset.ErrNotFound, path, -1, "dataset", "no record files", "one")
	}
	return s, nil
}

// Name returns the dataset's name in dataset_info.json.
func (s *Set) Name() string { return s.name }

// Format returns "rlds".
func (s *Set) Format() string { return "rlds" }

// Len returns the number of episodes in all splits.
func (s *Set) Len() int { return s.len }

// Info returns the declarations, features and splits, and notes about contradictions: missing files, and counts that differ.
func (s *Set) Info() dataset.Info { return s.info.Clone() }

// Damage returns notes about losses in broken record files; Info.Notes contains them too. Damage inside an episode is in the
// episode's notes.
func (s *Set) Damage() dataset.Notes { return slices.Clone(s.damage) }

// Close closes all files. Close twice is fine; episodes stay valid.
func (s *Set) Close() error {
	s.closed.Store(true)
	for _, f := range s.shards {
		if f.packed != nil {
			f.packed.close()
		}
	}
	s.files.Close()
	return nil
}

// Episode reads an episode: one record. If the record's checksum is wrong, or its data is no tf.Example, the error is a
// *dataset.FormatError. Other episodes can still be read.
func (s *Set) Episode(ctx context.Context, i int) (_ *dataset.Episode, err error) {
	defer dataset.Guard("rlds", s.path, &err)()
	if s.closed.Load() {
		return nil, fmt.Errorf("rlds: %s: %w", s.path, dataset.ErrClosed)
	}
	if err := dataset.CheckIndex(ctx, "episode", i, s.len); err != nil {
		return nil, err
	}
	from := s.shards[sort.Search(len(s.shards), func(k int) bool { return s.shards[k].episode > i })-1]
	record := i - from.episode
	room := rooms.Get().(*room)
	defer rooms.Put(room)
	data, err := from.read(ctx, record, room.record)
	if err != nil {
		return nil, err
	}
	if from.packed == nil {
		room.record = data
	}
	e := &dataset.Episode{Name: from.split + "_" + strconv.Itoa(from.first+record), Steps: s.rate == 0, Record: int64(len(data))}
	e.Attributes.Source = from.path
	e.Attributes.Other = map[string]string{"tfds_id": storage.Base(from.path) + "__" + strconv.Itoa(record)}
	b := &builder{set: s, shard: from, data: data, at: from.records[record].at, room: room, e: e}
	if err := b.build(); err != nil {
		return nil, withPath(err, from.path)
	}
	e.Notes.SetPath(from.path)
	if s.opt.TaskFrom != "" {
		if err := e.TakeTask(s.opt.TaskFrom, e.TextNames()); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func formatError(kind error, path string, at int64, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "rlds", Path: path, Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
}

// withPath sets the path in an error that lacks it.
func withPath(err error, path string) error {
	var bad *dataset.FormatError
	if errors.As(err, &bad) && bad.Path == "" {
		bad.Path = path
	}
	return err
}

// quote formats a name for errors, shortened to 100 bytes.
func quote(s string) string { return strconv.Quote(s[:min(len(s), 100)]) }
