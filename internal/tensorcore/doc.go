// Package tensorcore computes what the tensor cores of a GPU do, to the bit: sums of products of bfloat16 or float16 numbers and
// a float32, as of mma.sync with 32-bit sums.
//
// # The rule
//
// A step adds up to 16 products to an addend. Each product is exact, of the significands as they are: its exponent is the sum of its
// factors' exponents, even where the significands' product is two or more. A subnormal number has the least normal exponent, an addend
// of zero -126; a product of zero counts for nothing. All terms are cut, toward zero, to a number of bits after the binary point of the largest
// exponent among them: 25 on Hopper. The cut terms are added exactly, and the sum is cut toward zero to float32, subnormal numbers
// included; one that is cut to nothing is +0. Ampere and Ada take 8 products at a time and keep 24 bits.
//
// A product of infinity and zero is not a number, nor is a sum of infinities of both signs, or of anything and not-a-number: the
// result is then the bits 0x7fffffff. A product never overflows; a sum does, to infinity. A sum of nothing is +0.
//
// The rule is that of a published model (MMA-Sim, arXiv 2511.10909), except that there a product of zero has an exponent. For Hopper it was
// compared with an H100 (TestTensorCoresSumAsTheirRuleSays of cudasim/internal/program); for Ampere it is as published and has not been measured here.
package tensorcore
