package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/cobra"
)

// packed is what pack says of its work.
type packed struct {
	Input    string            `json:"input"`
	Output   string            `json:"output"`
	Episodes int               `json:"episodes"`
	Skipped  []serve.Skipped   `json:"skipped"` // episodes that could not be read
	Absent   []absentInput     `json:"absent"`  // the input, if declared episodes of it are not there
	Streams  []packedStream    `json:"streams"`
	Media    []packedMedia     `json:"media"`
	LeftOut  []notetext.Reason `json:"left_out"`
	Remarks  []string          `json:"remarks"`
	Shards   int               `json:"shards"`        // files of the store, if it is a folder; 0 if it is one file
	Packed   []int             `json:"packed_shards"` // which of them were packed, from 0
	Fresh    []int             `json:"fresh_shards"`  // which were there already
}

type packedStream struct {
	Name       string `json:"name"`
	Samples    int    `json:"samples"`
	Columns    int    `json:"columns"`
	DType      string `json:"dtype"`
	Rounded    int    `json:"rounded"`    // values that the dtype could not hold
	Overflowed int    `json:"overflowed"` // of these, those that became infinite
	Inexact    int    `json:"inexact_integers"`
}

type packedMedia struct {
	Name     string `json:"name"`
	Encoding string `json:"encoding"`
	Frames   int    `json:"frames"`
	Bytes    int    `json:"bytes"`
}

func (a *app) packCommand() *cobra.Command {
	var p batching.Packing
	var out string
	var shard shardFlag
	var shards int
	dtype := setting[tensor.DType]{choice[tensor.DType]{list: valueTypes(), kind: "DTYPE"}, &p.Build.DType}
	cmd := &cobra.Command{
		Use:   "pack DATASET -o STORE.safetensors",
		Short: "Pack the episodes of a dataset into one file that batches are drawn from",
		Long: `Pack reads the episodes of a dataset and packs them stream by stream, as they were recorded, into
one safetensors file: NAME.values, NAME.times and NAME.offsets of each stream. It holds a hash of
each file that it was made of. Robocache takes it in place of the dataset.

The dataset may be larger than memory. What does not fit is put aside on the disk of the store,
which needs room for it twice.

With --media the frames of cameras are packed too, as they were encoded, with a log's video, from its
first key frame on. The videos of mp4 files are left out. In Python, frame i of episode e is

  t = safetensors.numpy.load_file("dataset.safetensors")
  k = t["NAME.offsets"][e] + i
  begin, end = t["NAME.frame_offsets"][k : k + 2]
  jpeg = t["NAME.frames"][begin:end].tobytes()

A store may be a folder of N such files, each with a run of the episodes, which several programs
pack at a time: --shard I/N packs one, and --shards N the one that the variables of Slurm's array,
Kubernetes' Indexed Job or another launcher name, or all where there are none. They are the same
bytes whoever packs them. A shard that is there and fresh stays, so to run it again is to resume; one
whose sources have changed is packed anew. Shards that were packed with other options, or of another
dataset, are refused unless --replace is given.`,
		Example: "  robocache pack dataset/ -o dataset.safetensors\n  robocache pack dataset/ -o dataset.safetensors --media all\n  robocache batches dataset.safetensors --hz 50\n  robocache pack dataset/ -o store/ --shard 3/8",
		Args:    takes(1, 1, "pack takes one dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Path, p.Spell = strings.TrimPrefix(args[0], "file://"), spelling(cmd.Flags())
			switch given := cmd.Flags().Changed; {
			case p.Build.Replace && !given("shard") && !given("shards"):
				return usagef("--replace: got it without --shard or --shards, want it with them: one file is replaced anyhow")
			case given("shard"):
				if given("shards") && shards != shard.count {
					return usagef("--shards: got %d with --shard %v, want these equal, or one of them", shards, &shard)
				}
				return a.packShards(&p, out, shard.index, shard.index+1, shard.count, "")
			case given("shards"):
				if shards < 1 || shards > loader.MostShards {
					return usagef("--shards: got %d, want 1 to %d", shards, loader.MostShards)
				}
				begin, end, from, err := shardsOf(shards, os.Getenv)
				if err != nil {
					return err
				}
				return a.packShards(&p, out, begin, end, shards, from)
			}
			return a.pack(&p, out)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&out, "output", "o", "", "the .safetensors file to write; with --shard or --shards a folder")
	f.Var(&shard, "shard", "pack one shard, I from 0, of a store in N files")
	f.IntVar(&shards, "shards", 0, "pack a store in `N` files: this task's of an array or other launcher, or all")
	f.StringArrayVar(&p.Build.Streams, "stream", nil, "a stream to take, all unless given; repeatable")
	f.StringArrayVar(&p.Build.Media, "media", nil, "a media stream to take too, or all; repeatable")
	f.Var(&dtype, "dtype", "dtype of all values: f32, f64, f16 or bf16 (default f32)")
	readingFlags(f, &p.Options)
	f.BoolVar(&p.Strict, "strict", false, "refuse what is broken")
	f.BoolVar(&p.Build.Replace, "replace", false, "pack shards anew that are there and were packed with other options")
	complete(cmd, "dtype", dtype.names)
	files(cmd, map[string]string{"output": "safetensors"})
	cmd.ValidArgsFunction = recordingFiles
	return cmd
}

func (a *app) pack(p *batching.Packing, out string) error {
	switch {
	case out == "":
		return usagef("no output given, want -o STORE.safetensors")
	case !strings.HasSuffix(strings.ToLower(out), ".safetensors"):
		return usagef("-o: got %q, want a name that ends in .safetensors", out)
	case sameFile(p.Path, out):
		return usagef("-o: %q is the input %q, want another file", out, p.Path)
	}
	if err := writable(out); err != nil {
		return err
	}
	ctx := context.Background()
	d, err := p.Read(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	done := a.step("hashing the files of " + p.Path)
	sources, err := loader.SourcesOf(ctx, p.Path)
	done()
	if err != nil {
		return readError(p.Path, err)
	}
	if err := a.packInto(ctx, p, d, out, sources); err != nil {
		return err
	}
	store, err := loader.Open(out)
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

// packInto writes the store of a dataset.
func (a *app) packInto(ctx context.Context, p *batching.Packing, d dataset.Dataset, out string, sources []loader.Source) error {
	bar := a.counting("packing episodes", d.Len())
	defer bar.done()
	written := func() {}
	defer func() { written() }()
	opt := p.BuildOptions(func(done, of int) {
		if bar.add(1); done == of {
			bar.done()
			written = a.step("writing " + out)
		}
	})
	opt.Sources = sources
	err := loader.Pack(ctx, d, out, opt)
	var path *fs.PathError
	if errors.As(err, &path) && path.Path == out {
		return unwritten(err)
	}
	if err != nil {
		return p.Explain(err)
	}
	return nil
}

func packedOf(ctx context.Context, in, out string, store *loader.Store) (*packed, error) {
	r := &packed{Input: in, Output: out, Episodes: store.Len(), Skipped: serve.SkippedOf(store.Skipped), Absent: absentIn(in, store), Streams: []packedStream{}, Media: []packedMedia{}, LeftOut: []notetext.Reason{}, Remarks: []string{}, Packed: []int{}, Fresh: []int{}}
	for _, a := range r.Absent {
		r.Remarks = append(r.Remarks, a.String())
	}
	for i := range store.Streams {
		s := &store.Streams[i]
		r.Streams = append(r.Streams, packedStream{s.Name, s.Samples(), len(s.Columns), s.DType().String(), s.Rounded, s.Overflowed, s.Inexact})
		if s.Rounded > 0 {
			r.Remarks = append(r.Remarks, fmt.Sprintf("%s: %d values are rounded to %v", s.Name, s.Rounded, s.DType()))
		}
	}
	for i := range store.Media {
		m := &store.Media[i]
		r.Media = append(r.Media, packedMedia{m.Name, m.Encoding, m.Len(), m.Bytes()})
	}
	at := map[string]int{}
	for _, e := range store.Episodes {
		for _, n := range e.Notes.Of(dataset.ClassLeftOut, dataset.ClassDamage) {
			key, l := n.Subject, notetext.Reason{Name: n.Subject, Reason: notetext.Text(n)}
			if n.Code.Class() == dataset.ClassDamage {
				key, l = "damage "+string(n.Code)+n.Subject, notetext.Reason{Name: "damage", Reason: notetext.Line(n)}
			}
			k, there := at[key]
			if !there {
				k = len(r.LeftOut)
				at[key], r.LeftOut = k, append(r.LeftOut, l)
			}
			r.LeftOut[k].Episodes++
		}
	}
	notes, err := batching.StoreNotes(ctx, store)
	if err != nil {
		return nil, err
	}
	r.Remarks = append(r.Remarks, notetext.EpisodeLines(notes, store.Len())...)
	for _, g := range store.Skipped.Groups() {
		r.Remarks = append(r.Remarks, fmt.Sprintf("skipped: episode %s: %s", g.Who(), notetext.Text(g.Note)))
	}
	return r, nil
}

func (a *app) packed(r *packed) error {
	if a.json {
		return a.writeJSON(r)
	}
	for _, text := range r.Remarks {
		a.remark("%s", text)
	}
	for _, l := range r.LeftOut {
		a.remark("left out: %s, %s (in %s)", l.Name, l.Reason, episodes(l.Episodes))
	}
	samples := 0
	for _, s := range r.Streams {
		samples += s.Samples
	}
	frames, media := 0, ""
	for _, m := range r.Media {
		frames += m.Frames
	}
	if len(r.Media) > 0 {
		media = fmt.Sprintf(", %d frames of %d media streams", frames, len(r.Media))
	}
	_, err := fmt.Fprintf(a.out, "packed %s, %d streams, %d samples%s, into %s\n", episodes(r.Episodes), len(r.Streams), samples, media, r.Output)
	return err
}
