package main

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
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

// Set adds a camera. After the size it has settings with the JSON names of loader.Camera, and stored=WIDTHxHEIGHT.
func (c *cameras) Set(text string) error {
	text, settings, _ := strings.Cut(text, ",")
	name, size, err := nameAndSize(text)
	if err != nil {
		return err
	}
	o := loader.Camera{Name: name, Width: size.Width, Height: size.Height}
	for setting := range strings.SplitSeq(settings, ",") {
		key, value, given := strings.Cut(setting, "=")
		if _, size, err := nameAndSize(setting); key == "stored" && err == nil {
			o.StoredWidth, o.StoredHeight = size.Width, size.Height
			continue
		}
		if setting == "" {
			continue
		}
		if !given {
			value = "true"
		}
		found := false
		for _, form := range []string{value, strconv.Quote(value)} { // a number, or a name
			d := json.NewDecoder(strings.NewReader(fmt.Sprintf("{%q: %s}", strings.ReplaceAll(key, "-", "_"), form)))
			d.DisallowUnknownFields()
			found = found || d.Decode(&o) == nil
		}
		if !found {
			return fmt.Errorf("got %q, want such as stored=320x240, crop=random, flip=0.5, brightness=0.2, dtype=bf16, layout=CHW, normalise=imagenet or per-frame", setting)
		}
	}
	*c = append(*c, o)
	return nil
}

// nameAndSize parses NAME=WIDTHxHEIGHT.
func nameAndSize(text string) (name string, size store.Size, err error) {
	name, pixels, found := cutLast(text, "=")
	var rest string
	n, _ := fmt.Sscanf(pixels+" ", "%dx%d%s", &size.Width, &size.Height, &rest)
	if !found || name == "" || n != 2 || size.Width < 1 || size.Height < 1 {
		err = fmt.Errorf("got %q, want NAME=WIDTHxHEIGHT such as front=224x224", text)
	}
	return name, size, err
}

// frameSizes are the --frames values of pack.
type frameSizes struct{ to *map[string]store.Size }

func (f frameSizes) String() string { return "" }

// Set adds a size.
func (f frameSizes) Set(text string) error {
	name, size, err := nameAndSize(text)
	if _, twice := (*f.to)[name]; twice && err == nil {
		err = fmt.Errorf("got two sizes for %s, want one", name)
	}
	if *f.to == nil {
		*f.to = map[string]store.Size{}
	}
	(*f.to)[name] = size
	return err
}

// Type returns the value's name in help.
func (f frameSizes) Type() string { return "NAME=WIDTHxHEIGHT" }

// Type returns the value's name in help.
func (c *cameras) Type() string { return "NAME=WIDTHxHEIGHT[,SETTING...]" }

// levels returns the names of the levels for frames.
func levels() (names []string) {
	for _, l := range loader.FrameLevels {
		names = append(names, string(l))
	}
	return names
}

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
