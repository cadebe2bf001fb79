package nth

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever order the numbers come in.
func TestWhatIsSelectedIsWhatSortingPutsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 31, 32, 33, 127, 1000} {
		for name, value := range map[string]func(i int) int64{
			"random": func(int) int64 { return r.Int64() - r.Int64() }, "few": func(int) int64 { return r.Int64N(3) }, "equal": func(int) int64 { return 7 },
			"up": func(i int) int64 { return int64(i) }, "down": func(i int) int64 { return int64(-i) }, "organ": func(i int) int64 { return int64(min(i, n-i)) },
		} {
			list := make([]int64, n)
			for i := range list {
				list[i] = value(i)
			}
			sorted := slices.Sorted(slices.Values(list))
			for _, k := range []int{0, (n - 1) / 2, n / 2, (95*n+99)/100 - 1, n - 1} {
				require.Equal(t, sorted[k], Of(slices.Clone(list), k), "%s, %d of %d", name, k, n)
			}
		}
	}
}
