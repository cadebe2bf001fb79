// Package blosc reads and writes chunks of Blosc 1, and expands the compressed formats inside them: zstd, lz4 and zlib. Sizes are bytes.
//
// A chunk is a header of 16 bytes, the offsets of its blocks, and the blocks. Each block is one compressed stream, or one stream for each
// byte of an element. The bytes or the bits of a block's elements may be shuffled before the compression. The format is described in
// README_CHUNK_FORMAT.rst of c-blosc.
package blosc
