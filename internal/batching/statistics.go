package batching

import (
	"strconv"

	"github.com/robocache/robocache/loader"
)

// Normalised is what a stream of the batches was normalised with: y = (x-shift)*scale, then not beyond clip, so x = y/scale + shift. Each list has an
// entry for each column. Its JSON names are a contract.
type Normalised struct {
	Name    string   `json:"name"`
	Rule    string   `json:"rule"`   // of the plan
	Names   []string `json:"names"`  // of the columns
	Counts  []int    `json:"counts"` // samples, without those that are not finite
	Mean    []Number `json:"mean"`
	Std     []Number `json:"std"`
	Min     []Number `json:"min"`
	Max     []Number `json:"max"`
	Q01     []Number `json:"q01,omitempty"` // quantiles, where the rule needs them
	Q10     []Number `json:"q10,omitempty"`
	Q90     []Number `json:"q90,omitempty"`
	Q99     []Number `json:"q99,omitempty"`
	Shift   []Number `json:"shift"`
	Scale   []Number `json:"scale"`
	ClipMin []Number `json:"clip_min,omitempty"` // where the rule clips; null in a column that it leaves alone
	ClipMax []Number `json:"clip_max,omitempty"`
}

// Number is null in JSON where it is not finite.
type Number float64

// MarshalJSON writes it.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); v-v != 0 {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// Statistics are those that a loader takes.
func (n *Normalised) Statistics() (loader.Statistics, error) {
	s := loader.Statistics{Rule: n.Rule, Columns: n.Names, Stats: make([]loader.ColumnStats, len(n.Names))}
	lists := [][]Number{n.Mean, n.Std, n.Min, n.Max, n.Q01, n.Q10, n.Q90, n.Q99}
	quantiles := loader.NeedsQuantiles(n.Rule)
	if !quantiles {
		lists = lists[:4]
	}
	for _, list := range lists {
		if len(list) != len(n.Names) || len(n.Counts) != len(n.Names) {
			return s, Usagef("--statistics: stream %s: got %d counts and a list of %d numbers, want one for each of %d columns", n.Name, len(n.Counts), len(list), len(n.Names))
		}
	}
	for i := range s.Stats {
		c := &s.Stats[i]
		*c = loader.ColumnStats{Count: n.Counts[i], Mean: float64(n.Mean[i]), Std: float64(n.Std[i]), Min: float64(n.Min[i]), Max: float64(n.Max[i])}
		if quantiles {
			c.Q01, c.Q10, c.Q90, c.Q99 = float64(n.Q01[i]), float64(n.Q10[i]), float64(n.Q90[i]), float64(n.Q99[i])
		}
	}
	return s, nil
}

func numbers(list []float32) []Number {
	out := make([]Number, len(list))
	for i, v := range list {
		out[i] = Number(v)
	}
	return out
}

// NormalisedBy lists the streams that a loader normalises.
func NormalisedBy(l *loader.Loader) []Normalised {
	list := []Normalised{}
	for i := range l.Batch().Streams {
		s := &l.Batch().Streams[i]
		by := l.Normalisation(s.Name)
		if by == nil {
			continue
		}
		n := Normalised{Name: s.Name, Rule: by.Rule, Shift: numbers(by.Shift), Scale: numbers(by.Scale), ClipMin: numbers(by.Min), ClipMax: numbers(by.Max)}
		for k, c := range l.Stats(s.Name) {
			n.Names, n.Counts = append(n.Names, s.Columns[k].Name), append(n.Counts, c.Count)
			for _, to := range []struct {
				list  *[]Number
				value float64
			}{{&n.Mean, c.Mean}, {&n.Std, c.Std}, {&n.Min, c.Min}, {&n.Max, c.Max}} {
				*to.list = append(*to.list, Number(to.value))
			}
			if by.Quantiles {
				n.Q01, n.Q10, n.Q90, n.Q99 = append(n.Q01, Number(c.Q01)), append(n.Q10, Number(c.Q10)), append(n.Q90, Number(c.Q90)), append(n.Q99, Number(c.Q99))
			}
		}
		list = append(list, n)
	}
	return list
}
