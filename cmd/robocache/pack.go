package main

import (
	"context"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/loader/store"
	"github.com/spf13/cobra"
)

func (a *app) packCommand() *cobra.Command {
	var p batching.Packing
	var out string
	var shards shardFlags
	dtype := dtypeFlag(&p.Build.DType)
	cmd := &cobra.Command{
		Use:   "pack DATASET -o STORE.safetensors",
		Short: "Pack a dataset into one file, from which batches are drawn",
		Long: `Pack reads the episodes of a dataset and packs them stream by stream, as they were recorded, into
one safetensors file: NAME.values, NAME.times and NAME.offsets of each stream. It holds a hash of
each source file. Robocache takes it in place of the dataset.

The dataset may be larger than memory. Data that does not fit is put aside on the store's disk,
which needs room for it twice.

With --media the frames of cameras are packed too, as they were encoded, with a log's video, from its
first key frame on. The videos of mp4 files need --frames NAME=WIDTHxHEIGHT, which decodes each
frame once, and packs its pixels in the size that batches will ask for. In Python, frame i of episode
e is

  t = safetensors.numpy.load_file("dataset.safetensors")
  k = t["NAME.offsets"][e] + i
  begin, end = t["NAME.frame_offsets"][k : k + 2]
  jpeg = t["NAME.frames"][begin:end].tobytes()

A store may be a folder of N such files, each with a run of the episodes, which several programs
pack at a time: --shard I/N packs one, and --shards N the one that the variables of Slurm's array,
Kubernetes' Indexed Job or another launcher name, or all where there are none. They are the same
bytes whoever packs them. A shard that is there and fresh stays, so to run it again is to resume; one
with changed sources is packed anew. Shards that were packed with other options, or from another
dataset, are refused unless --replace is given.`,
		Example: "  robocache pack demos/ -o dataset.safetensors\n  robocache pack demos/ -o dataset.safetensors --media all\n  robocache pack demos/ -o dataset.safetensors --frames all=224x224\n  robocache batches dataset.safetensors --hz 50\n  robocache pack demos/ -o store/ --shard 3/8",
		Args:    takes(1, 1, "pack takes one dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.locals(args); err != nil {
				return err
			}
			p.Path, p.Spell = strings.TrimPrefix(args[0], "file://"), spelling(cmd.Flags())
			made, err := shards.choose(cmd.Flags().Changed, store.MostShards)
			switch {
			case err != nil:
				return err
			case made.count > 0:
				return a.packShards(&p, out, made)
			case p.Build.Replace:
				return usagef("--replace: got it without --shard or --shards, want it with them: one file is replaced anyhow")
			}
			return a.pack(&p, out)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "the .safetensors `FILE` to write; with --shard or --shards a folder")
	f.Var(&shards.one, "shard", "pack one shard, I from 0, of a store in N files")
	f.IntVar(&shards.all, "shards", 0, "pack a store in `N` files: this array task's, or all without a launcher")
	f.StringArrayVar(&p.Build.Streams, "stream", nil, "a stream to take, all unless given; repeatable")
	f.StringArrayVar(&p.Build.Media, "media", nil, "a media stream to take too, or all; repeatable")
	f.Var(frameSizes{&p.Build.Frames}, "frames", "a media stream, or all, to decode and resize to this size; repeatable")
	choiceFlag(cmd, &dtype, "dtype", "dtype of all values: f32, f64, f16 or bf16 (default f32)")
	datasetFlags(cmd, &p.Options)
	f.BoolVar(&p.Strict, "strict", false, "refuse broken data")
	f.BoolVar(&p.Build.Replace, "replace", false, "pack shards anew that are there and were packed with other options")
	files(cmd, map[string]string{"output": "safetensors"})
	completeFrom(cmd, (*dataset.Episode).Names, "", "stream")
	completeFrom(cmd, (*dataset.Episode).MediaNames, "", "media")
	completeFrom(cmd, (*dataset.Episode).MediaNames, "=", "frames")
	takesRecordings(cmd, 0)
	return cmd
}

func (a *app) pack(p *batching.Packing, out string) error {
	if out == "" {
		return usagef("no output given, want -o STORE.safetensors")
	}
	if err := writable(append(p.Definitions, p.Path), output{flag: "-o", path: out, ends: []string{".safetensors"}}); err != nil {
		return err
	}
	ctx := context.Background()
	d, err := p.Read(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	done := a.Step("hashing the files in " + p.Path)
	sources, err := store.SourcesOf(ctx, p.Path)
	done()
	if err != nil {
		return readError(p.Path, err)
	}
	if err := a.packInto(ctx, p, d, out, sources); err != nil {
		return err
	}
	store, err := store.Open(out)
	if err != nil {
		return readError(out, err)
	}
	defer store.Close()
	r, err := packedOf(ctx, p.Path, out, store)
	if err != nil {
		return readError(out, err)
	}
	return a.packed(r)
}
