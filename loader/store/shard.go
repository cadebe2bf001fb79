package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"sort"
	"strconv"

	"github.com/robocache/robocache/internal/sources"
	"github.com/robocache/robocache/storage"
)

// MostShards limits how many files a store has.
const MostShards = 99999

// Shard describes one file of a store in several files. Of E episodes it has ceil(Index*E/Count) to ceil((Index+1)*E/Count)-1, so
// episode e is in shard floor(e*Count/E). Episodes are divided by number, because their lengths are unknown before they are read. Its
// JSON names are a contract.
type Shard struct {
	Index    int `json:"index"` // the number of the file, from 0
	Count    int `json:"count"`
	Episodes int `json:"episodes"` // E: the number of episodes in the dataset
	// Files is the number of files in the dataset. Shard j % Count hashes file j and lists it in its sources.
	Files   int    `json:"files"`
	Listing string `json:"listing"` // a SHA-256 hash over the names and sizes of all files
	// Streams and the following fields are the packing options.
	Streams []string        `json:"streams,omitempty"`
	Media   []string        `json:"media,omitempty"`
	Frames  map[string]Size `json:"frames,omitempty"`
	DType   string          `json:"dtype"`
	Strict  bool            `json:"strict,omitempty"`
	// Selected are the numbers of the dataset's episodes, as dataset.Ranges has them, if the store has only some; else empty.
	Selected string `json:"selected,omitempty"`
}

// run returns the shard's episodes: begin to end-1.
func (h *Shard) run() (begin, end int) {
	first := func(i int) int { return int((int64(i)*int64(h.Episodes) + int64(h.Count) - 1) / int64(h.Count)) }
	return first(h.Index), first(h.Index + 1)
}

// sources lists a dataset's files, records their count and their listing, and hashes the shard's share of them.
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

// ShardName returns the name of a shard's file in the store's folder, for example "shard-00003-of-00008.safetensors".
func ShardName(index, count int) string {
	return fmt.Sprintf("shard-%05d-of-%05d.safetensors", index, count)
}

// shardFile is a file with a shard's name.
type shardFile struct {
	name         string
	index, count int
}

var shardPattern = regexp.MustCompile(`^shard-(\d{5})-of-(\d{5})\.safetensors$`)

// IsShardName reports whether a name is one that [ShardName] returns.
func IsShardName(name string) bool { return shardPattern.MatchString(name) }

// shardNames returns a folder's files with shard names, sorted.
func shardNames(folder string) ([]shardFile, error) {
	entries, err := storage.ReadNames(context.Background(), folder, -1)
	if err != nil {
		return nil, err
	}
	var list []shardFile
	for _, e := range entries {
		if m := shardPattern.FindStringSubmatch(e.Name); m != nil {
			index, _ := strconv.Atoi(m[1])
			count, _ := strconv.Atoi(m[2])
			list = append(list, shardFile{e.Name, index, count})
		}
	}
	return list, nil
}

// shardAt returns the index of the shard with an episode. begins has the first episode of each shard, ascending.
func shardAt(begins []int, episode int) int {
	return sort.SearchInts(begins, episode+1) - 1
}
