// Command step times training steps of a transformer on a device. bench/peers/step_peer.py runs it in turn with PyTorch.
//
// The network is in flags. Each line on standard input is a number of steps; the reply is a line with the seconds that they took.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) (err error) {
	set := flag.NewFlagSet("step", flag.ContinueOnError)
	number := func(name string, value int, usage string) *int { return set.Int(name, value, usage) }
	device, threads := set.String("device", "cpu", "the device"), number("threads", runtime.GOMAXPROCS(0), "threads")
	b, t, width, input, output := number("b", 32, "rows"), number("t", 35, "tokens"), number("d", 128, "width"), number("in", 54, "columns of a token"), number("out", 780, "columns of the prediction")
	layers, heads, ffn := number("layers", 2, "layers"), number("heads", 4, "heads"), number("ffn", 256, "width of the feed-forward part")
	dropout, last := set.Float64("dropout", 0, "dropout"), set.Bool("last", false, "predict from the last token alone")
	flat, first := set.Bool("flat", false, "predict from all tokens side by side"), set.Bool("prenorm", false, "norms come first")
	if err := set.Parse(args); err != nil {
		return err
	}
	runtime.GOMAXPROCS(*threads)
	d, err := ops.Open(*device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	ctx := context.Background()
	list := slices.Concat(
		[]nn.Layer{nn.Linear{Name: "input", Out: *width}, nn.Positions{Name: "position", Count: *t}},
		nn.Encoder("encoder", *layers, nn.TransformerEncoderLayer{Heads: *heads, FFN: *ffn, Dropout: float32(*dropout), PreNorm: *first}))
	if *flat {
		list = append(list, nn.Flatten{Tokens: *t})
	}
	if *last {
		list = append(list, nn.LastToken{})
	}
	m, err := nn.NewModel(ctx, d, nn.Config{In: *input, Layers: append(list, nn.Linear{Name: "output", Out: *output})}, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	step, err := nn.NewStep(ctx, m, *b, *t, nn.StepOptions{Train: &nn.Training{Schedule: nn.Schedule{Rate: 1e-4}, WeightDecay: 0.01}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, step.Close()) }()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var n int
		if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
			return fmt.Errorf("want a number of steps a line: %w", err)
		}
		begin := time.Now()
		for range n {
			if err := step.Run(d.Queue()); err != nil {
				return err
			}
		}
		if err := d.Synchronize(ctx); err != nil {
			return err
		}
		fmt.Fprintln(out, time.Since(begin).Seconds())
	}
	return lines.Err()
}
