// Package msgpack encodes and decodes MessagePack, a binary form of JSON's values. The decoder is for input from anyone: its memory is bounded
// by the input's length and by [MaxValues].
package msgpack
