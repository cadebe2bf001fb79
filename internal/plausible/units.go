package plausible

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Units returns a note if timestamps of a stream that are taken as nanoseconds are probably in another unit.
func Units(name string, times *tensor.Tensor, st dataset.Stats) dataset.Notes {
	length := float64(st.Last) - float64(st.First)
	if times.DType() != tensor.I64 || st.Samples < 2 || !(length > 0) {
		return nil
	}
	const (
		fast      = 6e4             // samples a second: more than any sensor, or sound, that is resampled
		quick     = 5e3             // few sensors have as many
		from2000  = 946_684_800e9   // nanoseconds of the year 2000
		until2100 = 4_102_444_800e9 // and of 2100
	)
	rate := float64(st.Samples-1) / length * 1e9
	for _, u := range []struct {
		name  string
		nanos float64
	}{{"microseconds", 1e3}, {"milliseconds", 1e6}, {"seconds", 1e9}} {
		if rate/u.nanos > quick {
			continue
		}
		epoch := float64(st.First)*u.nanos > from2000 && float64(st.First)*u.nanos < until2100
		if rate > fast || rate > quick && epoch {
			return dataset.Notes{{Code: dataset.CodeTimeUnit, Subject: name,
				Detail: dataset.Detail{Got: fmt.Sprintf("%.4g", rate), Want: fmt.Sprintf("%.4g", rate/u.nanos), Unit: u.name}}}
		}
		return nil
	}
	return nil
}

// Degrees returns a note if angles of a stream that are taken as radians are probably degrees: they go beyond a turn, as only angles that are not
// wrapped do, and jump by more than half of one, as only wrapped ones do. values are [..,D], the channels are of D.
func Degrees(name string, values *tensor.Tensor, channels []ops.Channel) dataset.Notes {
	var list []float64
	most, step := 0.0, 0.0
	for _, c := range channels {
		if c.Interp != ops.InterpAngle || c.Period != 0 {
			continue
		}
		if list == nil {
			var err error
			if list, err = tensor.Floats(values); err != nil {
				return nil
			}
		}
		d := values.Dim(values.Rank() - 1)
		for k := c.Lo; k < c.Hi; k++ {
			for i := k; i < len(list); i += d {
				most = max(most, math.Abs(list[i])) // a NaN is never larger
				if i >= d {
					step = max(step, math.Abs(list[i]-list[i-d]))
				}
			}
		}
	}
	if !(most > 2.02*math.Pi && most < 400 && step > 1.01*math.Pi) {
		return nil
	}
	return dataset.Notes{{Code: dataset.CodeAngleUnit, Subject: name, Detail: dataset.Detail{Got: fmt.Sprintf("%.4g", most), Want: fmt.Sprintf("%.4g", step)}}}
}
