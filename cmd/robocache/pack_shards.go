package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
)

// packShards packs shards to a folder.
func (a *app) packShards(p *batching.Packing, out string, made shardRange) error {
	begin, end, count := made.begin, made.end, made.count
	if err := shardsFolder(append(p.Definitions, p.Path), out); err != nil {
		return err
	}
	if made.from != "" {
		a.Remark("shard %d of %d, by %s", begin, count, made.from)
	}
	ctx := context.Background()
	d, err := p.Read(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	packed, fresh := []int{}, []int{}
	for i := begin; i < end; i++ {
		there, err := a.packShard(ctx, p, d, out, i, count)
		if err != nil {
			return unpacked(p, err, out)
		}
		if there {
			fresh = append(fresh, i)
		} else {
			packed = append(packed, i)
		}
	}
	written := out
	if end-begin == 1 && count > 1 {
		written = filepath.Join(out, store.ShardName(begin, count))
	}
	store, err := store.Open(written)
	if err == nil && store.Shard == nil {
		err = store.Any()
	}
	if err != nil {
		return readError(written, err)
	}
	defer store.Close()
	r, err := packedOf(ctx, p.Path, written, store)
	if err != nil {
		return readError(written, err)
	}
	r.Shards, r.Packed, r.Fresh = count, packed, fresh
	if h := store.Shard; h != nil {
		for _, name := range h.Streams {
			if store.Stream(name) == nil {
				r.remark("stream-absent", "no episode in this shard has stream %s", name)
			}
		}
	}
	if len(fresh) > 0 {
		r.remark("shards-kept", "%d of %d shards were there already, packed alike from the same files: they stay", len(fresh), end-begin)
	}
	return a.packed(r)
}

// packShard packs a shard and shows the progress.
func (a *app) packShard(ctx context.Context, p *batching.Packing, d dataset.Dataset, out string, index, count int) (fresh bool, err error) {
	done, episodes := a.Step(fmt.Sprintf("shard %d of %d: hashing files", index, count)), cli.Bar{}
	defer func() { done(); episodes.Done() }()
	return store.PackShard(ctx, d, p.Path, out, index, count, p.BuildOptions(func(at, of int) {
		if at == 1 {
			done()
			episodes = a.Counting(fmt.Sprintf("packing shard %d of %d", index, count), of)
		}
		episodes.Add(1)
	}))
}

// shardsFolder returns a usage error if an output cannot be a store folder.
func shardsFolder(inputs []string, out string) error {
	folder := output{flag: "-o", path: out, folder: true}
	if err := writable(inputs, folder); err != nil {
		return err
	}
	info, err := fault.Stat(out)
	switch {
	case out == "":
		return usagef("no output given, want -o STORE, a folder for the shards")
	case dataset.IsSystem(err):
		return readError(out, err)
	case err == nil && !info.IsDir():
		return usagef("-o: got the file %q, want a folder for the shards", out)
	case err != nil && strings.HasSuffix(strings.ToLower(out), ".safetensors"):
		return usagef("-o: got %q, want the name of a folder for the shards", out)
	}
	return unmixed(folder, store.IsShardName)
}

// unpacked maps an error from packing a shard to a command-line error.
func unpacked(p *batching.Packing, err error, out string) error {
	var option *loader.OptionError
	var path *fs.PathError
	switch {
	case errors.As(err, &option) && option.Arg == "Replace":
		return usagef("-o: got %s, want the same, another folder, or --replace", option.Got)
	case errors.As(err, &path) && (path.Op == "mkdir" || path.Path == out || filepath.Dir(path.Path) == filepath.Clean(out)):
		return unwritten(err)
	}
	return p.Explain(err)
}
