package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/loader"
)

// mixing are the datasets of batches behind the first, and the flags that say how often each is drawn from.
type mixing struct {
	others  []string
	weights weightsFlag
	windows int // of an epoch
}

// weightsFlag is numbers, with commas or one each time.
type weightsFlag []float64

func (w *weightsFlag) String() string {
	if len(*w) == 0 {
		return ""
	}
	return strings.Trim(fmt.Sprint(*w), "[]")
}

func (w *weightsFlag) Type() string { return "NUMBER" }

func (w *weightsFlag) Set(s string) error {
	for _, text := range strings.Split(s, ",") {
		v, err := decimal.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("got %q, want numbers such as 2 or 0.5, with commas or each with a --weight of its own", text)
		}
		*w = append(*w, v)
	}
	return nil
}

const mixingHelp = `Several datasets are drawn from as one; all must have the streams that are taken, with the same
columns. With a --weight for each an epoch draws as many windows of each as its weight says, and of
one dataset none again before all of its windows have been drawn, over epochs.`

// paths are those of all datasets.
func (b *batching) paths() []string { return append([]string{b.path}, b.mixing.others...) }

// mixed checks the flags.
func (b *batching) mixed() error {
	m := &b.mixing
	switch n := 1 + len(m.others); {
	case len(m.weights) > 0 && len(m.weights) != n:
		return usagef("--weight: got %d, want one for each of %d datasets", len(m.weights), n)
	case b.streaming.on && n > 1:
		return usagef("--streaming: got it with %d datasets, want one: several are kept on the device together", n)
	case b.streaming.on && len(m.weights) > 0:
		return usagef("--streaming: got it with --weight, want one of the two: a weighted dataset is kept on the device")
	case b.fresh != "" && n > 1:
		return usagef("--check-fresh: got it with %d datasets, want one", n)
	case b.shuffle != "" && b.shuffle != "shards" && (b.streaming.shardWindows != 0 || b.streaming.mixShards != 0):
		return usagef("--shuffle: got %s with --shard-windows or --mix-shards, want shards", b.shuffle)
	}
	return nil
}

// openStore opens a store, or packs a dataset.
func (d *drawing) openStore(ctx context.Context, path string) (*loader.Store, error) {
	if !loader.IsStore(path) {
		p := d.packing
		p.path = path
		return d.app.store(ctx, &p)
	}
	s, err := loader.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	return s, nil
}

// weighted are the stores with their weights.
func (d *drawing) weighted() []loader.Weighted {
	list := make([]loader.Weighted, len(d.stores))
	for i, s := range d.stores {
		list[i].Store = s
		if d.mixing.weights != nil {
			list[i].Weight = d.mixing.weights[i]
		}
	}
	return list
}

// writeMixture says in words what is drawn of each dataset.
func (out *batched) writeMixture(w io.Writer) {
	for i, m := range out.Mixture {
		weight := ""
		if m.Weight > 0 {
			weight = fmt.Sprintf(", weight %g", m.Weight)
		}
		fmt.Fprintf(w, "%s: %d of an epoch's windows%s: each of its %d is drawn %.3g times\n", out.Inputs[i], m.Share, weight, m.Windows, m.Epochs)
	}
}
