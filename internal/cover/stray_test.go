package cover

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// counting returns n times from first on.
func counting(first, step int64, n int) (list []int64) {
	for i := range n {
		list = append(list, first+int64(i)*step)
	}
	return list
}

func TestZerosBeforeTheFirstTimeAreNoSamples(t *testing.T) {
	for name, c := range map[string]struct {
		times []int64
		left  int
	}{
		"several, near":            {append([]int64{0, 0, 0}, counting(100, 100, 20)...), 3},
		"one, near":                {append([]int64{0}, counting(5000, 100, 300)...), 1},
		"a clock from 0":           {counting(0, 100, 20), 0},
		"a first pause":            {append([]int64{0}, counting(300, 100, 20)...), 0},
		"two samples of each time": {[]int64{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, 0},
		"all 0":                    {make([]int64, 12), 0},
		"two samples":              {[]int64{0, 0, 7}, 0},
	} {
		s := dataset.Stream{Name: "x", Times: tensor.Must(tensor.Of(c.times, len(c.times)))}
		_, core, lo, hi, err := Core(&s)
		require.NoError(t, err)
		assert.Equal(t, []int{c.left, len(c.times)}, []int{lo, hi}, name)
		assert.Equal(t, c.times[lo], core.First, name)
	}
}
