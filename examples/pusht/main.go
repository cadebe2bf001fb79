package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

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
	flags.IntVar(&o.execute, "execute", 8, "the `number` of actions to execute of a chunk")
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
	var lists [2][]float64
	var shapes [2][]int
	for i, name := range []string{"start", "actions"} {
		t, err := f.Tensor(name)
		if err != nil {
			return err
		}
		shapes[i] = t.Shape()
		if lists[i], err = tensor.Floats(t); err != nil {
			return err
		}
	}
	start, actions := shapes[0], shapes[1]
	if len(start) != 2 || len(actions) != 3 || start[0] != actions[0] || start[1] != 5 || actions[2] != 2 {
		return fmt.Errorf("%s: got start %v and actions %v, want [N 5] and [N K 2]", in, start, actions)
	}
	k := actions[1]
	var states []float64
	for i := range start[0] {
		e := newEnv(state(lists[0][5*i:]))
		for j := i * k; j < (i+1)*k; j++ {
			e.step(vec{lists[1][2*j], lists[1][2*j+1]})
			s := e.state()
			states = append(states, s[:]...)
		}
	}
	t, err := tensor.Of(states, start[0], k, 5)
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
