// Package blosc reads and writes Blosc 1 chunks, and expands the compressed formats inside them: zstd, lz4 and zlib. Sizes are bytes.
//
// A chunk is a header with 16 bytes, the blocks' offsets, and the blocks. Each block is one compressed stream, or one stream for each
// byte in an element. The bytes or bits in a block may be shuffled before the compression. The format is described in c-blosc's
// README_CHUNK_FORMAT.rst.
package blosc
