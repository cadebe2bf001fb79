package nntest

import (
	"math"

	"github.com/robocache/robocache/tensor"
)

// toZero returns x rounded to float32 toward zero.
func toZero(x float64) float32 {
	near := float32(x)
	if math.Abs(float64(near)) > math.Abs(x) {
		return math.Nextafter32(near, 0)
	}
	return near
}

// turns reports whether x*y, rounded to bfloat16, differs if it is first rounded to float32 toward zero instead of to nearest.
func turns(x, y float32) bool {
	product := float64(x) * float64(y)
	return tensor.BF16FromF32(float32(product)) != tensor.BF16FromF32(toZero(product))
}

// toMiddle returns a number x for which x*by, rounded to float32, is the midpoint of two bfloat16 numbers, where the larger one is
// even and the exact product is below the midpoint. It prefers an x for which fit returns true. It returns different numbers for
// different i, and 0 if there is no such number.
func toMiddle(by float32, i int, fit func(x float32) bool) float32 {
	found := float32(0)
	for k := range 64 {
		middle := float64(259 + 4*((i+k)%63))
		x := float32(middle / 256 / math.Abs(float64(by)))
		for range 4 {
			x = math.Nextafter32(x, 0)
		}
		for range 8 {
			if x = math.Nextafter32(x, 4); turns(x, by) {
				if found = x; fit(x) {
					return x
				}
			}
		}
	}
	return found
}

// middleRow returns a row of n numbers, and gamma for which the row's norm has values as in toMiddle. The row has pairs x, -x, so
// that its mean is 0, and its sum of squares is a float32 number. For a third of the columns the result also changes if the product
// with rstd is rounded toward zero.
func middleRow(n int, eps float32) (row, gamma []float64) {
	row, gamma = make([]float64, n), make([]float64, n)
	sum := 0.0
	for i := range row {
		row[i] = float64((64+i/2*5%64)*(1-i%2*2)) / 64
		sum += row[i] * row[i]
	}
	rstd := 1 / float32(math.Sqrt(float64(float32(sum)/float32(n)+eps)))
	for i, x := range row {
		product := x * float64(rstd)
		near, less := float32(product), toZero(product)
		gamma[i] = float64(toMiddle(near, i, func(g float32) bool {
			return near == less || tensor.BF16FromF32(near*g) != tensor.BF16FromF32(less*g)
		}))
	}
	return row, gamma
}

// middleOf returns a number for which the product with the dropout factor 1/(1-rate) is as in toMiddle.
func middleOf(rate float32, i int) float64 {
	return float64(toMiddle(1/(1-rate), i, func(float32) bool { return true }))
}
