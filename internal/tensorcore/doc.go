// Package tensorcore computes what the tensor cores of a GPU do, to the bit: sums of 16 products of bfloat16 or float16 numbers and a float32.
package tensorcore
