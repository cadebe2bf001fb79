package batching

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/robocache/robocache/loader"
)

// Normalised is what a stream of the batches was normalised with: y = (x-shift)*scale, then not beyond clip, so x = y/scale + shift. Each list has an
// entry for each column. Its JSON names are a contract.
type Normalised struct {
	Name    string   `json:"name"`
	Rule    string   `json:"rule"`             // of the plan
	Names   []string `json:"names"`            // of the columns
	Counts  []int    `json:"counts,omitempty"` // samples, without those that are not finite
	Mean    []Number `json:"mean,omitempty"`
	Std     []Number `json:"std,omitempty"`
	Min     []Number `json:"min,omitempty"`
	Max     []Number `json:"max,omitempty"`
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

// UnmarshalJSON reads what MarshalJSON writes: null is NaN.
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// Statistics are those that a loader takes: with Shift and Scale just these and the clip, else what a rule makes them of, where what is not there is NaN.
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
				return s, refusef("statistics["+n.Name+"]", "one for each column", "lists of %d and of %d numbers", len(list), width)
			}
		}
	}
	return s, nil
}

// lists are the statistics, and values those of a column, in the same order: the quantiles come last.
func (n *Normalised) lists() [8]*[]Number {
	return [8]*[]Number{&n.Mean, &n.Std, &n.Min, &n.Max, &n.Q01, &n.Q10, &n.Q90, &n.Q99}
}

func values(c *loader.ColumnStats) [8]*float64 {
	return [8]*float64{&c.Mean, &c.Std, &c.Min, &c.Max, &c.Q01, &c.Q10, &c.Q90, &c.Q99}
}

// floats is a list in float32. With a sign null is infinite.
func floats(list []Number, sign int) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		if out[i] = float32(v); sign != 0 && v != v {
			out[i] = float32(math.Inf(sign))
		}
	}
	return out
}

func numbers(list []float32) []Number {
	out := make([]Number, len(list))
	for i, v := range list {
		out[i] = Number(v)
	}
	return out
}

// NormalisedBy lists the streams that a loader normalises. What was given of one says the rest, beside what it is normalised with.
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
		n.Name, n.Rule, n.Names, n.Shift, n.Scale, n.ClipMin, n.ClipMax = s.Name, by.Rule, nil, numbers(by.Shift), numbers(by.Scale), numbers(by.Min), numbers(by.Max)
		for _, c := range s.Columns {
			n.Names = append(n.Names, c.Name)
		}
		list = append(list, n)
	}
	return list
}
