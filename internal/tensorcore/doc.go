// Package tensorcore computes bit for bit the same results as a GPU's tensor cores: sums of products of bfloat16 or float16 numbers and
// a float32, as in mma.sync with 32-bit sums.
//
// # The rule
//
// A step adds up to 16 products to an addend. Each product is exact and not normalised: its exponent is the sum of its factors'
// exponents, even if the product of the significands is two or more. A subnormal number has the least normal exponent, a zero addend
// has -126, and products with zero are ignored. All terms are truncated toward zero after a fixed number of bits below the binary point
// of the largest exponent: 25 on Hopper. The truncated terms are added exactly, and the sum is truncated to float32, including
// subnormal numbers. A sum truncated to nothing is +0. Ampere and Ada process 8 products at a time and keep 24 bits.
//
// Infinity times zero is not a number. So is a sum with infinities of both signs, or with any not-a-number. The result is then
// 0x7fffffff. A product never overflows; a sum overflows to infinity. An empty sum is +0.
//
// The rule comes from a published model (MMA-Sim, arXiv 2511.10909), but there a zero product has an exponent. For Hopper it was
// compared with an H100 (TestTensorCoresSumAsTheirRuleSays in cudasim/internal/program). For Ampere it is as published and was not
// measured here.
package tensorcore
