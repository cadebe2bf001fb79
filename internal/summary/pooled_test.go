package summary

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The moments of parts, pooled, are those of all their values.
func TestPooledMomentsAreThoseOfAll(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7))
	var all []float64
	var pooled Pooled
	for _, n := range []int{1, 2, 31, 1000} {
		part := make([]float64, n)
		for i := range part {
			part[i] = float64(n) + r.NormFloat64()
		}
		mean, variance := momentsOf(part)
		pooled.Add(float64(n), mean, variance)
		all = append(all, part...)
	}
	mean, variance := momentsOf(all)
	assert.InEpsilon(t, mean, pooled.Mean, 1e-13)
	assert.InEpsilon(t, variance, pooled.Std()*pooled.Std(), 1e-12)
	assert.EqualValues(t, len(all), pooled.Count)
}

func momentsOf(list []float64) (mean, variance float64) {
	for _, v := range list {
		mean += v / float64(len(list))
	}
	for _, v := range list {
		variance += (v - mean) * (v - mean) / float64(len(list))
	}
	return mean, variance
}
