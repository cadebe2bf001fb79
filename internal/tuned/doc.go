// Package tuned stores launch shapes that were measured on a kind of GPU. A table maps a key, which describes similar jobs, to a
// policy. The CUDA backend knows which policies a kernel supports, and chooses when it makes a plan.
package tuned
