// Package msgpack encodes and decodes MessagePack, JSON's values in binary form. The decoder is for input from anyone: its memory is bounded
// by the input's length and by [MaxValues].
package msgpack
