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

// ShardName is what the file of a shard is called in the store's folder: "shard-00003-of-00008.safetensors".
func ShardName(index, count int) string {
	return fmt.Sprintf("shard-%05d-of-%05d.safetensors", index, count)
}

// shardFile is a file in a folder that is called as a shard is.
type shardFile struct {
	name         string
	index, count int
}

var shardPattern = regexp.MustCompile(`^shard-(\d{5})-of-(\d{5})\.safetensors$`)

// shardNames returns the files of a folder that are called as shards are, in the order of their names.
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

// shardAt returns the shard that an episode is in, of shards whose first episodes have these numbers.
func shardAt(begins []int, episode int) int {
	return sort.SearchInts(begins, episode+1) - 1
}
