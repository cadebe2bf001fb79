package main

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/loader"
)

// weightsFlag is a list of numbers, separated by commas or in repeated flags.
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

// episodeWeights are the --episode-weights of the only dataset.
type episodeWeights []map[int]float64

func (e *episodeWeights) String() string { return "" }

func (e *episodeWeights) Type() string { return "N-N=NUMBER" }

func (e *episodeWeights) Set(s string) error {
	if len(*e) == 0 {
		*e = episodeWeights{{}}
	}
	for _, text := range strings.Split(s, ",") {
		numbers, weight, found := strings.Cut(text, "=")
		list, err := dataset.ParseRanges(numbers)
		w, failed := decimal.ParseFloat(weight, 64)
		if !found || err != nil || failed != nil || list[0][1]-list[0][0] > 1e6 {
			return fmt.Errorf("got %q, want numbers of episodes and their weights, such as 3=2 or 7-9=0.5", text)
		}
		for n := list[0][0]; n <= list[0][1]; n++ {
			(*e)[0][n] = w
		}
	}
	return nil
}

// cameras are the --camera values.
type cameras []loader.Camera

func (c *cameras) String() string {
	var list []string
	for _, o := range *c {
		list = append(list, fmt.Sprintf("%s=%dx%d", o.Name, o.Width, o.Height))
	}
	return strings.Join(list, ",")
}

// Set adds a camera.
func (c *cameras) Set(text string) error {
	name, size, found := cutLast(text, "=")
	o := loader.Camera{Name: name}
	var rest string
	n, _ := fmt.Sscanf(size+" ", "%dx%d%s", &o.Width, &o.Height, &rest)
	if !found || name == "" || n != 2 || o.Width < 1 || o.Height < 1 {
		return fmt.Errorf("got %q, want NAME=WIDTHxHEIGHT such as front=224x224", text)
	}
	*c = append(*c, o)
	return nil
}

// Type returns the value's name in help.
func (c *cameras) Type() string { return "NAME=WIDTHxHEIGHT" }

// seconds parses a duration such as 500ms, or a number of seconds.
func seconds(text string) (time.Duration, bool) {
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	sec, err := decimal.ParseFloat(text, 64)
	return time.Duration(math.Round(sec * 1e9)), err == nil && math.Abs(sec) < 9e9
}

// cutLast cuts at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// fileFormat is a format of --out.
type fileFormat string

func (f fileFormat) String() string { return string(f) }

const (
	batchesFormat fileFormat = "safetensors" // one file per batch
	samplesFormat fileFormat = "webdataset"  // tar files of samples
)
