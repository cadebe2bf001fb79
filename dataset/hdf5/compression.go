package hdf5

import (
	"github.com/robocache/robocache/dataset/internal/lzf"
	"github.com/robocache/robocache/dataset/internal/unpack"
)

// deflateRatio is the maximum bytes that one byte in a deflate stream can expand to. Other filters expand less.
const deflateRatio = 1032

// compression undoes a filter that changes the data's size.
type compression struct {
	ratio  int                                       // maximum bytes that one byte can expand to
	expand func(dst, src []byte) (in int, err error) // fills dst; with an error, in is the error's position in src
}

var compressions = map[int]compression{filterDeflate: {deflateRatio, unpack.Zlib}, filterLZF: {lzf.MaxRatio, lzf.Decompress}}
