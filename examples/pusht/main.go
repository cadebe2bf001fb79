package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"slices"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"

	_ "github.com/robocache/robocache/dataset/zarr" // so that dataset.Open knows it
	_ "github.com/robocache/robocache/ops/cuda"     // so that ops.Open("auto") finds a GPU
	_ "github.com/robocache/robocache/ops/sim"
)

func main() {
	log.SetFlags(0)
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		log.Fatal("pusht: ", err)
	}
}

var errUsage = errors.New("want simulate IN.npz -o OUT.npz, or score POLICY --seeds A-B: see go doc ./examples/pusht")

// run runs a command. Results go to out, progress to errs.
func run(ctx context.Context, args []string, out, errs io.Writer) error {
	if len(args) < 2 {
		return errUsage
	}
	var flags flag.FlagSet
	flags.SetOutput(errs)
	var o options
	flags.StringVar(&o.out, "o", "", "the `file` that simulate writes")
	flags.StringVar(&o.seeds, "seeds", "100000-100499", "the seeds `A-B` of the episodes, or their numbers in a dataset")
	flags.StringVar(&o.backend, "backend", "auto", "where the policy computes: auto, cpu, cpu:exact, cuda, cuda:N or sim")
	flags.IntVar(&o.execute, "execute", 0, "the `number` of actions to execute of a chunk; 0 for the policy's own, or 8 if it has none")
	flags.BoolVar(&o.json, "json", false, "print JSON")
	flags.StringVar(&o.gif, "gif", "", "the `file` for a film of the first episode")
	flags.StringVar(&o.png, "png", "", "the `file` for a picture of the final poses")
	if err := flags.Parse(args[2:]); err != nil {
		return err
	}
	switch {
	case args[0] == "score" && flags.NArg() == 0:
		return score(ctx, args[1], &o, out, errs)
	case args[0] == "simulate" && flags.NArg() == 0 && o.out != "":
		return simulate(args[1], o.out)
	}
	return errUsage
}

// options are the flags.
type options struct {
	out, seeds, backend, gif, png string
	execute                       int
	json                          bool
}

// simulate reads the arrays start [N,5] and actions [N,K,2] and writes states [N,K,5], the state after each action.
func simulate(in, out string) (err error) {
	f, err := npz.Open(in)
	if err != nil {
		return err
	}
	defer f.Close()
	read := func(name string) (list []float64, shape []int) {
		t, no := f.Tensor(name)
		if no == nil {
			shape = t.Shape()
			list, no = tensor.Floats(t)
		}
		err = errors.Join(err, no)
		return list, shape
	}
	start, n := read("start")
	actions, k := read("actions")
	switch {
	case err != nil:
		return err
	case len(n) != 2 || len(k) != 3 || n[0] != k[0] || n[1] != 5 || k[2] != 2:
		return fmt.Errorf("%s: got start %v and actions %v, want [N 5] and [N K 2]", in, n, k)
	}
	for _, v := range slices.Concat(start, actions) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: got %g, want finite numbers", in, v)
		}
	}
	var states []float64
	for i := range n[0] {
		e := newEnv(state(start[5*i:]))
		for j := i * k[1]; j < (i+1)*k[1]; j++ {
			e.step(vec{actions[2*j], actions[2*j+1]})
			s := e.state()
			states = append(states, s[:]...)
		}
	}
	t, err := tensor.Of(states, n[0], k[1], 5)
	if err != nil {
		return err
	}
	return write(out, func(w io.Writer) error {
		archive := npz.NewWriter(w, npz.Options{})
		return errors.Join(archive.Add("states", t), archive.Close())
	})
}

// write creates a file.
func write(path string, content func(w io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}
