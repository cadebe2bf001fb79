// Package parquet reads columns of Parquet files, some rows at a time, and writes files from columns.
//
// A [Column] is a field of a file's rows: numbers or texts, one per row or nested lists, or images with their bytes and paths.
// For lists with structures, [Lists] keep the levels and values in each row, and a Writer writes them with the same schema.
// Read returns rows of a row group, and decodes only the pages that hold them. The page that was read last is kept, so that episodes that
// follow each other in a row group are decoded once. A [Writer] writes row groups of [Values], whose [Field] gives the columns.
//
// The library parquet-go parses the footer and decodes runs. Pages are taken apart here, because a few bytes can declare any number of
// values, and the library makes room for what is declared: the footer's lists, pages, compressed data and runs are checked first. A page
// has at most 2^24 values and 2^28 bytes, and a read at most 2^24 values, or 64 for each byte of its column chunk if that is more.
//
// Read: pages of versions 1 and 2; the encodings PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY, RLE (levels and truth values), DELTA_BINARY_PACKED,
// DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY of byte arrays, and BYTE_STREAM_SPLIT of numbers; a last run that is longer than its page, as DuckDB writes;
// no compression, snappy, gzip, zstd, lz4_raw or brotli; whole numbers of 8 to 64 bits with and without sign, float16, float32, float64, truth values and
// byte arrays, and lists of each.
//
// Refused with ErrUnsupported: BIT_PACKED levels, the codecs lz4 (Hadoop's framing) and lzo, encrypted files, INT96, and fixed byte arrays other than
// float16. Broken data is a *dataset.FormatError.
package parquet
