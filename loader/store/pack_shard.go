package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
)

// PackShard packs one part of a dataset, shard index from 0 to count-1, into a file in a folder, which it creates. [ShardName] is
// the file's name. Its bytes equal those that Pack writes for the shard's episodes. PackShard reads no other episodes. Several
// programs may pack the shards, and Open opens the folder as one store when all shards exist. source is the dataset's path; its
// files are hashed.
//
// If the shard already exists, with the same packing and from unchanged files, PackShard keeps it, reads no episode and returns
// fresh. It removes files that a killed program left. So if two programs pack one shard at the same time, the first fails, with
// an error that is no *dataset.FormatError.
//
// If there are more shards than episodes, a shard may have no episodes and no streams. An *OptionError means that the folder has
// shards with another count, from another dataset, or with another packing: other streams, media, dtype or strictness, or the
// same files with another rate or clock. With opt.Replace, shards with another packing are packed again.
func PackShard(ctx context.Context, d dataset.Dataset, source, folder string, index, count int, opt BuildOptions) (fresh bool, err error) {
	if count < 1 || count > MostShards || index < 0 || index >= count {
		return false, refuse("Shards", fmt.Sprintf("%d of %d", index, count), fmt.Sprintf("a number from 0, with 1 to %d shards", MostShards))
	}
	p, err := newPacker("", &opt) // checks the options
	if err != nil {
		return false, err
	}
	names, err := shardNames(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	for _, n := range names {
		if n.count != count {
			return false, refuse("Shards", fmt.Sprintf("%d shards, where %s has %s", count, folder, n.name), "another folder, or that file removed")
		}
	}
	h := &Shard{Index: index, Count: count, Episodes: d.Len(), Streams: opt.Streams, Media: opt.Media, Frames: opt.Frames, DType: p.as.String(), Strict: opt.Strict,
		Selected: dataset.Selected(d).String()}
	if opt.Sources, err = h.sources(ctx, source); err != nil {
		return false, err
	}
	opt.shard = h
	wanted := &Store{name: d.Name(), format: d.Format(), info: d.Info(), Shard: h, Sources: opt.Sources}
	name := ShardName(index, count)
	path := filepath.Join(folder, name)
	if there, err := openFile(path); err == nil {
		fresh, err = there.Shard != nil && reflect.DeepEqual(there.Sources, opt.Sources) && there.head() == wanted.head(), wanted.checkReplace(there, path, &opt)
		if err = errors.Join(err, there.Close()); err != nil || fresh {
			return fresh, err
		}
	}
	if len(names) > 0 && names[0].name != name { // one shard stands for the others
		first := filepath.Join(folder, names[0].name)
		if there, err := openFile(first); err == nil {
			if err := errors.Join(wanted.checkReplace(there, first, &opt), there.Close()); err != nil {
				return false, err
			}
		}
	}
	if err := atomicfile.MkdirAll(folder); err != nil {
		return false, err
	}
	if err := atomicfile.Sweep(folder, func(left string) bool { return left == name }); err != nil {
		return false, err
	}
	return false, Pack(ctx, d, path, opt)
}

// checkReplace returns an *OptionError if a shard at path would be replaced by one with another packing.
func (s *Store) checkReplace(there *Store, path string, opt *BuildOptions) error {
	if there.Shard == nil || opt.Replace {
		return nil
	}
	what, got, want := s.packingDifference(there)
	if what == "" && s.Shard.Index == there.Shard.Index && reflect.DeepEqual(s.Sources, there.Sources) { // else the dataset itself may have changed
		what, got, want = s.timingDifference(there)
	}
	if what == "" {
		return nil
	}
	return refuse("Replace", fmt.Sprintf("%s %s, where %s has %s", what, got, path, want), "the same, another folder, or the shards replaced")
}
