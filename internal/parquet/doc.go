// Package parquet reads columns of Parquet files, some rows at a time, and writes files from columns.
//
// A [Column] is a field of a file's rows: numbers or texts, one a row or lists of them to any depth, or images with their bytes and paths.
// Read returns rows of a row group, and decodes only the pages that hold them. The page that was read last is kept, so that episodes that
// follow each other in a row group are decoded once. A [Writer] writes row groups of [Values], whose [Field] gives the columns.
//
// The library parquet-go parses the footer and decodes runs. Pages are taken apart here, because a few bytes can declare any number of
// values, and the library makes room for what is declared: the footer's lists, pages, compressed data and runs are checked first. A page
// has at most 2^24 values and 2^28 bytes, and a read at most 2^24 values, or 64 for each byte of its column chunk if that is more.
//
// Pages of versions 1 and 2 are read, plain, with a dictionary, as differences (DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY) or with split
// bytes, uncompressed or compressed by snappy, gzip or zstd. Others are not supported, nor are encrypted files. Whatever is broken is a
// *dataset.FormatError.
package parquet
