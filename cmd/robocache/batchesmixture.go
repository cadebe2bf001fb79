package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/robocache/robocache/internal/decimal"
)

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
