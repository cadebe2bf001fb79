// Package lzf decompresses Marc Lehmann's LZF. A byte below 32 is followed by that many literal bytes and one more. Any other byte
// holds the high bits of a distance and a length; the length 7 is extended by the next byte.
package lzf
