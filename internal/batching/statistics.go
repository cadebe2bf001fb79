package batching

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/robocache/robocache/internal/columns"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/tensor"
)

// Normalised is a drawn stream's normalisation: y = (x-shift)*scale, then clipped, so x = y/scale + shift. Each list has
// an entry for each column. Its JSON names are a contract.
type Normalised struct {
	Name    string   `json:"name"`
	Rule    string   `json:"rule"`             // of the plan
	Names   []string `json:"names"`            // of the columns
	Counts  []int    `json:"counts,omitempty"` // samples, without those with NaN or infinity
	Mean    []Number `json:"mean,omitempty"`
	Std     []Number `json:"std,omitempty"`
	Min     []Number `json:"min,omitempty"`
	Max     []Number `json:"max,omitempty"`
	Q01     []Number `json:"q01,omitempty"` // quantiles, if the rule needs them
	Q10     []Number `json:"q10,omitempty"`
	Q90     []Number `json:"q90,omitempty"`
	Q99     []Number `json:"q99,omitempty"`
	Shift   []Number `json:"shift"`
	Scale   []Number `json:"scale"`
	ClipMin []Number `json:"clip_min,omitempty"` // if the rule clips; null for a column that it does not change
	ClipMax []Number `json:"clip_max,omitempty"`
}

// Number is a number that is null in JSON unless it is finite.
type Number float64

// MarshalJSON writes the number, or null.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); v-v != 0 {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, float64(n), 'g', -1, 64), nil
}

// UnmarshalJSON reads the number. Null is NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// Statistics returns the statistics for a loader. If Shift and Scale are set, it returns these and the clip values. Otherwise it returns
// the column statistics for a rule, with NaN for missing ones. If the lists have different lengths, the error is an *OptionError.
func (n *Normalised) Statistics() (loader.Statistics, error) {
	s := loader.Statistics{Rule: n.Rule, Columns: n.Names}
	if n.Shift != nil || n.Scale != nil {
		if len(n.Shift) != len(n.Scale) || len(n.ClipMin) != len(n.ClipMax) {
			return s, refusef("statistics["+n.Name+"]", "as many of both", "%d of shift, %d of scale, %d of clip_min and %d of clip_max", len(n.Shift), len(n.Scale), len(n.ClipMin), len(n.ClipMax))
		}
		s.Shift, s.Scale = floats(n.Shift, 0), floats(n.Scale, 0)
		if n.ClipMin != nil {
			s.ClipMin, s.ClipMax = floats(n.ClipMin, -1), floats(n.ClipMax, 1)
		}
		return s, nil
	}
	width := 0
	for _, list := range n.lists() {
		width = max(width, len(*list))
	}
	s.Stats = make([]loader.ColumnStats, width)
	for i := range s.Stats {
		c := &s.Stats[i]
		if c.Count = 1; len(n.Counts) == width {
			c.Count = n.Counts[i]
		}
		for k, to := range values(c) {
			switch list := *n.lists()[k]; len(list) {
			case 0:
				*to = math.NaN()
			case width:
				*to = float64(list[i])
			default:
				return s, refusef("statistics["+n.Name+"]", "one for each column", "lists of %d and %d numbers", len(list), width)
			}
		}
	}
	return s, nil
}

// lists returns the lists of statistics, in the order of values. The quantiles are last.
func (n *Normalised) lists() [8]*[]Number {
	return [8]*[]Number{&n.Mean, &n.Std, &n.Min, &n.Max, &n.Q01, &n.Q10, &n.Q90, &n.Q99}
}

func values(c *loader.ColumnStats) [8]*float64 {
	return [8]*float64{&c.Mean, &c.Std, &c.Min, &c.Max, &c.Q01, &c.Q10, &c.Q90, &c.Q99}
}

// floats converts a list to float32. If sign is not 0, null becomes an infinity with that sign.
func floats(list []Number, sign int) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		if out[i] = float32(v); sign != 0 && v != v {
			out[i] = float32(math.Inf(sign))
		}
	}
	return out
}

// NormalisedBy lists the streams that a loader normalises. If a stream's statistics are given, they are copied.
func NormalisedBy(l *loader.Loader, given []Normalised) []Normalised {
	list := []Normalised{}
	for i := range l.Batch().Streams {
		s := &l.Batch().Streams[i]
		by := l.Normalisation(s.Name)
		if by == nil {
			continue
		}
		var n Normalised
		if k := slices.IndexFunc(given, func(g Normalised) bool { return g.Name == s.Name }); k >= 0 {
			n = given[k]
		} else {
			for _, c := range l.Stats(s.Name) {
				n.Counts = append(n.Counts, c.Count)
				for i, v := range values(&c) {
					if to := n.lists()[i]; i < 4 || by.Quantiles {
						*to = append(*to, Number(*v))
					}
				}
			}
		}
		n.Name, n.Rule, n.Names, n.Shift, n.Scale, n.ClipMin, n.ClipMax = s.Name, by.Rule, columns.Names(s.Columns), tensor.Cast[Number](by.Shift), tensor.Cast[Number](by.Scale), tensor.Cast[Number](by.Min), tensor.Cast[Number](by.Max)
		list = append(list, n)
	}
	return list
}
