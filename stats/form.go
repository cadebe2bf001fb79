package stats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/robocache/robocache/internal/orderjson"
	nearest "github.com/robocache/robocache/internal/text"
)

// bareNumber matches statistics that are not finite, which JSON holds as text. They are not kept, because normalising by them makes
// NaN.
var bareNumber = regexp.MustCompile(`"-?(NaN|Infinity)"`)

// Form is a statistics file in another project's format.
type Form struct {
	Name string // one of Forms
	// State and Action name the streams that openpi and Octo need. If empty, they are the first name in StateNames or ActionNames
	// that the report contains.
	State, Action string
	// Keep is an existing LeRobot stats.json. Its entries for features outside the report, such as images, are copied. Nil copies
	// nothing.
	Keep []byte
}

// Forms are the valid names for [Report.WriteForm]: LeRobot's and GR00T's meta/stats.json, openpi's norm_stats.json and Octo's
// dataset_statistics_HASH.json, as their loaders read them in 2026.
var Forms = []string{"lerobot", "gr00t", "openpi", "octo"}

// StateNames and ActionNames are the usual names for a policy's input and output.
var (
	StateNames  = []string{"observation.state", "state", "observation/state", "observation/proprio", "proprio", "observations/qpos", "qpos"}
	ActionNames = []string{"action", "actions"}
)

// FormError reports statistics that a form cannot hold.
type FormError struct {
	Form, Stream string
	Got, Want    string
}

func (e *FormError) Error() string {
	at := ""
	if e.Stream != "" {
		at = ": stream " + e.Stream
	}
	return fmt.Sprintf("stats: form %s%s: got %s, want %s", e.Form, at, e.Got, e.Want)
}

// WriteForm writes the statistics in a form, and returns the names of the features that it copied from Keep. The quantiles must be
// known and include [Quantiles]. If the form cannot hold the report, the error is a *FormError and nothing is written.
func (r *Report) WriteForm(w io.Writer, f Form) (kept []string, err error) {
	bad := func(stream, got, want string) error { return &FormError{f.Name, stream, got, want} }
	if !r.Known {
		return nil, bad("", "statistics with quantiles that need another pass", "all passes")
	}
	if len(r.Streams) == 0 {
		return nil, bad("", "no streams of numbers", "one at least")
	}
	var out orderjson.Object
	switch f.Name {
	case "lerobot", "gr00t":
		names := []string{"min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99"}
		if f.Name == "gr00t" {
			names = []string{"mean", "std", "min", "max", "q01", "q99"}
		}
		for _, s := range r.Streams {
			values, err := r.values(f.Name, s.Name, names)
			if err != nil {
				return nil, err
			}
			out.Add(s.Name, values)
		}
		if f.Keep != nil {
			old, err := orderjson.Members(f.Keep)
			if err != nil {
				return nil, bad("", "a stats.json to take over from that is none: "+err.Error(), "a JSON object with features")
			}
			for _, m := range old {
				if !out.Has(m.Name) && !bareNumber.Match(m.Value) {
					out.Add(m.Name, m.Value)
					kept = append(kept, m.Name)
				}
			}
		}
	case "openpi":
		var stats orderjson.Object
		for _, what := range []struct {
			key, given string
			names      []string
		}{{"state", f.State, StateNames}, {"actions", f.Action, ActionNames}} {
			name, err := r.choose(&f, what.key, what.given, what.names)
			if err != nil {
				return nil, err
			}
			values, err := r.values(f.Name, name, []string{"mean", "std", "q01", "q99"})
			if err != nil {
				return nil, err
			}
			stats.Add(what.key, values)
		}
		out = orderjson.Of("norm_stats", stats)
	case "octo":
		names := []string{"mean", "std", "max", "min", "p99", "p01"}
		action, err := r.choose(&f, "action", f.Action, ActionNames)
		if err != nil {
			return nil, err
		}
		values, err := r.values(f.Name, action, names)
		if err != nil {
			return nil, err
		}
		out = orderjson.Of("action", values, "num_transitions", r.Stream(action).Rows, "num_trajectories", r.Stream(action).Episodes)
		if state, err := r.choose(&f, "proprio", f.State, StateNames); err == nil {
			if values, err = r.values(f.Name, state, names); err != nil {
				return nil, err
			}
			out.Add("proprio", values)
		} else if f.State != "" {
			return nil, err
		}
	default:
		return nil, bad("", fmt.Sprintf("form %q", f.Name), strings.Join(Forms, ", "))
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(out); err != nil {
		return nil, err
	}
	_, err = text.WriteTo(w)
	return kept, err
}

// choose returns the stream for a key of a form: the given name, or else the first usual name in the report. The error is a
// *FormError if there is no such stream.
func (r *Report) choose(f *Form, key, given string, usual []string) (string, error) {
	if given != "" {
		if r.Stream(given) == nil {
			return "", &FormError{f.Name, given, "none, or several, with that name", "one of " + nearest.Closest(given, r.names())}
		}
		return given, nil
	}
	for _, name := range usual {
		if r.Stream(name) != nil {
			return name, nil
		}
	}
	return "", &FormError{f.Name, "", fmt.Sprintf("no stream for %s: streams %s", key, nearest.Closest(key, r.names())), fmt.Sprintf("one of %q, or the name of another", usual)}
}

func (r *Report) names() []string {
	var list []string
	for _, s := range r.Streams {
		list = append(list, s.Name)
	}
	return list
}

// values returns a stream's statistics with the names in a form. The error is a *FormError if a quantile is missing, or a column has
// no finite value.
func (r *Report) values(form, stream string, names []string) (out orderjson.Object, err error) {
	s := r.Stream(stream)
	if s == nil {
		return out, &FormError{form, stream, "streams with other columns or types in some episodes", "the same in all"}
	}
	for _, name := range names {
		if name == "count" {
			out.Add(name, []int64{s.Rows})
			continue
		}
		list := []orderjson.Float{}
		for _, c := range s.Columns {
			v, ok := c.named(name, r.Quantiles)
			if !ok {
				return out, &FormError{form, stream, fmt.Sprintf("quantiles %v", r.Quantiles), "among them " + name}
			}
			if v-v != 0 {
				return out, &FormError{form, stream, "no finite value in column " + c.Name, "some"}
			}
			list = append(list, orderjson.Float(v))
		}
		out.Add(name, list)
	}
	return out, nil
}

// named returns a statistic by its name in a form, for example "mean", "q01" or "p99". It returns false if the quantile was not
// computed.
func (c *Column) named(name string, quantiles []float64) (float64, bool) {
	switch name {
	case "mean":
		return c.Mean, true
	case "std":
		return c.Std, true
	case "min":
		return c.Min, true
	case "max":
		return c.Max, true
	}
	for i, q := range quantiles {
		if i < len(c.Quantiles) && QuantileName(q) == "q"+name[1:] {
			return c.Quantiles[i], true
		}
	}
	return 0, false
}
