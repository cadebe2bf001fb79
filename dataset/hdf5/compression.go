package hdf5

import "github.com/robocache/robocache/dataset/internal/lzf"

// compression undoes a filter that changes the size of data.
type compression struct {
	ratio  int                                       // the most bytes that a byte can expand to
	expand func(dst, src []byte) (in int, err error) // fills dst; with an error, in is the place in src to blame
}

var compressions = map[int]compression{filterDeflate: {deflateRatio, inflate}, filterLZF: {lzf.MaxRatio, lzf.Decompress}}
