// Package openfiles keeps the most recently used files open, for readers that read one piece after the other, because opening a
// file and reading its header takes longer than reading a short episode.
package openfiles
