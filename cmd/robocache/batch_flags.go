package main

import (
	"fmt"
	"math"
	"strings"
	"time"

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
	name, size, err := nameAndSize(text)
	*c = append(*c, loader.Camera{Name: name, Width: size.Width, Height: size.Height})
	return err
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
