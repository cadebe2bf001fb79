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

// same refuses a checkpoint of other options, or of other recordings: it says the first that differs, what it is here, and what it is there.
func (c *Config) same(other *Config, dir string) error {
	for _, d := range []struct {
		what      string
		got, want any
	}{
		{"size", c.Recipe.Size, other.Recipe.Size}, {"steps", c.Recipe.Steps, other.Recipe.Steps}, {"batch", c.Recipe.Batch, other.Recipe.Batch},
		{"lr", c.Recipe.Rate, other.Recipe.Rate}, {"seed", c.Seed, other.Seed}, {"devices", c.Devices, other.Devices}, {"nccl", c.NCCL, other.NCCL}, {"plan", c.Plan, other.Plan},
		{"rate", c.Rate, cmp.Or(other.Rate, c.Rate)}, {"clock", c.Clock, cmp.Or(other.Clock, c.Clock)}, // of which old ones do not say
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

// plain is a value as JSON has it, so that it can be walked.
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

// differ finds the first place where values of JSON differ, and says what is there; "" of none.
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

// fits reports whether short says all of a value.
func fits(v any) bool {
	text, err := json.Marshal(v)
	return err == nil && len(text) <= mostShort
}

// mostShort is how many bytes of a value are shown.
const mostShort = 60

// short is what a value of JSON is, in a few words.
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
