package page

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/doctor"
)

// Whatever numbers there are to draw, the picture has no others.
func TestPicturesHaveFiniteNumbers(t *testing.T) {
	nan, inf := 0., 1e308
	nan /= nan
	for _, y := range [][]float64{nil, {1}, {nan}, {nan, nan}, {5, 5, 5}, {-inf, inf}, {inf * 10, 1}, {0, 1e-300}, {1, nan, 2}} {
		x := make([]float64, len(y))
		for i := range x {
			x[i] = float64(i)
		}
		text := svg(&doctor.Finding{Plot: &doctor.Plot{X: "s", Y: "v", Lines: []doctor.Line{{Name: "a", X: x, Y: y}}, Marks: []float64{0, nan}}})
		assert.NotContains(t, text, "NaN", y)
		assert.NotContains(t, text, "Inf", y)
	}
}
