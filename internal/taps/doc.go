// Package taps resizes images: the source pixels that each result pixel reads, their weights, and the sums.
package taps
