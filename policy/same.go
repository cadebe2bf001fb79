package policy

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// same returns a *CheckpointError if a checkpoint has other options or other recordings. It has the first difference, and both values.
func (c *Config) same(other *Config, dir string) error {
	for _, d := range []struct {
		what      string
		got, want any
	}{
		{"size", c.Recipe.Size, other.Recipe.Size}, {"steps", c.Recipe.Steps, other.Recipe.Steps}, {"batch", c.Recipe.Batch, other.Recipe.Batch},
		{"lr", c.Recipe.Rate, other.Recipe.Rate}, {"seed", c.Seed, other.Seed}, {"devices", c.Devices, other.Devices}, {"nccl", c.NCCL, other.NCCL}, {"plan", c.Plan, other.Plan},
		{"rate", c.Rate, cmp.Or(other.Rate, c.Rate)}, {"clock", c.Clock, cmp.Or(other.Clock, c.Clock)}, // older checkpoints lack these two
		{"floor", c.Floor, other.Floor}, {"recipe", c.Recipe, other.Recipe}, {"episodes held out", c.HoldOut, other.HoldOut}, {"episodes", c.Trained, other.Trained},
		{"states", c.States, other.States}, {"action", c.Action, other.Action}, {"samples", c.Contents, other.Contents}, {"inputs", c.Inputs, other.Inputs},
		{"targets", c.Targets, other.Targets},
	} {
		if what, got, want := differ(d.what, plain(d.got), plain(d.want)); what != "" {
			return &CheckpointError{dir, what, got, want + ", as the checkpoint has: --resume goes on with its options and recordings"}
		}
	}
	return nil
}

// plain converts a value to maps, lists and scalars by way of JSON.
func plain(v any) (to any) {
	text, err := json.Marshal(v)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber() // a seed has 64 bits
		err = d.Decode(&to)
	}
	if err != nil {
		return err.Error()
	}
	return to
}

// differ returns the path of the first difference between two JSON values, and both values there. Without a difference, the path is "".
func differ(what string, got, want any) (where, is, other string) {
	switch g := got.(type) {
	case map[string]any:
		w, ok := want.(map[string]any)
		if !ok {
			break
		}
		keys := slices.Sorted(maps.Keys(g))
		for _, k := range append(keys, slices.Sorted(maps.Keys(w))...) {
			if where, is, other = differ(what+" of "+k, g[k], w[k]); where != "" {
				return where, is, other
			}
		}
		return "", "", ""
	case []any:
		w, ok := want.([]any)
		if !ok || len(g) != len(w) || fits(g) && fits(w) && !slices.ContainsFunc(g, nested) {
			break
		}
		for i := range g {
			if where, is, other = differ(what+" "+strconv.Itoa(i), g[i], w[i]); where != "" {
				return where, is, other
			}
		}
		return "", "", ""
	}
	if reflect.DeepEqual(got, want) {
		return "", "", ""
	}
	g, textual := got.(string)
	if w, ok := want.(string); ok && textual { // the first line that differs
		a, b := strings.Split(g, "\n"), strings.Split(w, "\n")
		n := 0
		for n < min(len(a), len(b))-1 && a[n] == b[n] {
			n++
		}
		if len(a)+len(b) > 2 {
			what += " line " + strconv.Itoa(n+1)
		}
		got, want = a[n], b[n]
	}
	return what, short(got), short(want)
}

func nested(v any) bool {
	_, is := v.(map[string]any)
	return is
}

// fits reports whether short returns the whole value.
func fits(v any) bool {
	text, err := json.Marshal(v)
	return err == nil && len(text) <= mostShort
}

// mostShort is the largest length of a quoted value, in bytes.
const mostShort = 60

// short returns a short text for a JSON value.
func short(v any) string {
	text, err := json.Marshal(v)
	switch list, is := v.([]any); {
	case v == nil:
		return "none"
	case err != nil:
		return err.Error()
	case len(text) <= mostShort:
		return string(text)
	case is:
		return fmt.Sprintf("%d of them", len(list))
	}
	return string(text[:mostShort]) + "..."
}
