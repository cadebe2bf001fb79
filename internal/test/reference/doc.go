// Package reference computes networks, their gradients and AdamW in float64 by the textbook, one plain loop after another, so that package nn can be
// held against it. Gradients are by hand, and checked by central differences.
package reference
