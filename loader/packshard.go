package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/sources"
)

// MostShards is how many files a store may be in.
const MostShards = 99999

// Shard says which part of a dataset a file of a store in several has: of E episodes those from ceil(Index*E/Count) to ceil((Index+1)*E/Count)-1, so
// that episode e is in shard floor(e*Count/E). Nobody knows how many frames an episode has before it is read, so they are shared by their number.
// Its JSON names are a contract.
type Shard struct {
	Index    int    `json:"index"` // from 0
	Count    int    `json:"count"`
	Episodes int    `json:"episodes"` // E: of the dataset, in all shards
	Files    int    `json:"files"`    // of the dataset; file j of them, from 0, is hashed by shard j % Count, and is among the sources of that one alone
	Listing  string `json:"listing"`  // SHA-256 of the names and sizes of all files
	// What the packing was asked for.
	Streams []string `json:"streams,omitempty"`
	Media   []string `json:"media,omitempty"`
	DType   string   `json:"dtype"`
	Strict  bool     `json:"strict,omitempty"`
}

// ShardName is what the file of a shard is called in the store's folder: "shard-00003-of-00008.safetensors".
func ShardName(index, count int) string {
	return fmt.Sprintf("shard-%05d-of-%05d.safetensors", index, count)
}

// run returns the first of a shard's episodes, and the one after its last.
func (h *Shard) run() (begin, end int) {
	first := func(i int) int { return int((int64(i)*int64(h.Episodes) + int64(h.Count) - 1) / int64(h.Count)) }
	return first(h.Index), first(h.Index + 1)
}

// sources lists the files of a dataset, notes what they are called and how large they are, and hashes those that are this shard's to hash.
func (h *Shard) sources(ctx context.Context, path string) ([]Source, error) {
	all, err := sources.List(ctx, path)
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	var mine []Source
	for j, f := range all {
		fmt.Fprintf(sum, "%d %q\n", f.Bytes, f.Path)
		if j%h.Count == h.Index {
			mine = append(mine, f)
		}
	}
	h.Files, h.Listing = len(all), hex.EncodeToString(sum.Sum(nil))
	return mine, sources.Hash(ctx, path, mine)
}

// PackShard packs shard index of count of a dataset into a folder, which it makes, under the name of ShardName: what Pack writes of the shard's
// episodes alone, with the numbers that they have in the dataset. It reads no others. Whoever packs the shards, and in how many programs, they are
// the same bytes, and Open takes the folder as one store when all are there. source is the dataset's path, whose files are hashed.
//
// A shard that is there already and was packed alike, from files that are as they were, stays: then fresh is true, and no episode was read. What a
// program that was killed has left of the shard is removed; so of two that pack one shard at a time the first fails, which is no
// *dataset.FormatError.
// A shard may have no episodes, if there are more shards than episodes, and no streams. A folder with shards of another count is an *OptionError, and so
// are shards of another dataset or that were packed otherwise: with other streams, media, dtype or strictness, or of the same files with another rate or
// clock. opt.Replace packs such ones anew.
func PackShard(ctx context.Context, d dataset.Dataset, source, folder string, index, count int, opt BuildOptions) (fresh bool, err error) {
	if count < 1 || count > MostShards || index < 0 || index >= count {
		return false, refuse("Shards", fmt.Sprintf("%d of %d", index, count), fmt.Sprintf("a number from 0 of 1 to %d shards", MostShards))
	}
	p, err := newPacker("", &opt) // which checks the options
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
	h := &Shard{Index: index, Count: count, Episodes: d.Len(), Streams: opt.Streams, Media: opt.Media, DType: p.as.String(), Strict: opt.Strict}
	if opt.Sources, err = h.sources(ctx, source); err != nil {
		return false, err
	}
	opt.shard = h
	wanted := &Store{name: d.Name(), format: d.Format(), info: d.Info(), Shard: h, Sources: opt.Sources}
	name := ShardName(index, count)
	path := filepath.Join(folder, name)
	if there, err := openFile(path); err == nil {
		fresh, err = there.Shard != nil && reflect.DeepEqual(there.Sources, opt.Sources) && there.head() == wanted.head(), wanted.instead(there, path, &opt)
		if err = errors.Join(err, there.Close()); err != nil || fresh {
			return fresh, err
		}
	}
	if len(names) > 0 && names[0].name != name { // which stands for the others
		first := filepath.Join(folder, names[0].name)
		if there, err := openFile(first); err == nil {
			if err := errors.Join(wanted.instead(there, first, &opt), there.Close()); err != nil {
				return false, err
			}
		}
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return false, err
	}
	if err := atomicfile.Sweep(folder, func(left string) bool { return left == name }); err != nil {
		return false, err
	}
	return false, Pack(ctx, d, path, opt)
}

// head is what the index has besides episodes, streams and media, of which sources are a part: it is equal of stores that were packed alike.
func (s *Store) head() string {
	x := s.index()
	x.Streams, x.Media, x.Episodes, x.Skipped, x.Sources = nil, nil, nil, nil, nil
	text, err := json.Marshal(x)
	if err != nil {
		return err.Error() // of what cannot be written at all
	}
	return string(text)
}

// instead refuses to replace a shard that is there, at a path, and was packed otherwise than this one is to be.
func (s *Store) instead(there *Store, path string, opt *BuildOptions) error {
	if there.Shard == nil || opt.Replace {
		return nil
	}
	what, got, want := s.otherwise(there)
	if what == "" && s.Shard.Index == there.Shard.Index && reflect.DeepEqual(s.Sources, there.Sources) { // else the dataset may say something else now
		what, got, want = s.timed(there)
	}
	if what == "" {
		return nil
	}
	return refuse("Replace", fmt.Sprintf("%s %s, where %s has %s", what, got, path, want), "the same, another folder, or the shards replaced")
}

// check says what of a shard does not go together with the store that it is, or nothing.
func (h *Shard) check(s *Store) string {
	if h == nil {
		return ""
	}
	if h.Count < 1 || h.Count > MostShards || h.Index < 0 || h.Index >= h.Count || h.Episodes < 0 || h.Episodes > 1<<40 || h.Files < 0 || h.Files > 1<<40 {
		return fmt.Sprintf("shard %d of %d, %d episodes, %d files", h.Index, h.Count, h.Episodes, h.Files)
	}
	begin, end := h.run()
	next, skipped := begin, s.Skipped
	skip := func() {
		for len(skipped) > 0 && skipped[0].Row == dataset.At(next) {
			skipped, next = skipped[1:], next+1
		}
	}
	for i := range s.Episodes {
		if skip(); s.Episodes[i].Number != next {
			return fmt.Sprintf("episode number %d, where %d would be", s.Episodes[i].Number, next)
		}
		next++
	}
	if skip(); next != end || len(skipped) > 0 {
		return fmt.Sprintf("episodes %d to %d, and %d more that were skipped, where it has those before %d", begin, next-1, len(skipped), end)
	}
	if mine := (h.Files - h.Index + h.Count - 1) / h.Count; len(s.Sources) != max(mine, 0) {
		return fmt.Sprintf("%d sources of %d files", len(s.Sources), h.Files)
	}
	return ""
}
