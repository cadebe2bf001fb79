// Package openfiles keeps files open that were read last, for readers that are asked for one piece after the other: opening a file, and reading what it
// says of itself, takes longer than a short episode.
package openfiles
