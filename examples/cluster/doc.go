// Package cluster holds what Slurm and Kubernetes run to pack a store and to draw batches on many machines: README.md says how.
package cluster
