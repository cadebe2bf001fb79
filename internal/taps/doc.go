// Package taps computes filter tables for image resizing: the source pixels that each result pixel reads, and their weights.
package taps
