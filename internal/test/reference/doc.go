// Package reference computes networks, their gradients and AdamW in float64 by the textbook formulas in plain loops, so that tests
// can compare package nn with it. The gradients are written by hand, and a test checks them by central differences.
package reference
