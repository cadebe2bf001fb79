// Package lzf decompresses Marc Lehmann's LZF: a byte below 32 is followed by that many bytes and one more; any other holds the high
// bits of a distance and a length, 7 standing for 7 and what the next byte says.
package lzf
