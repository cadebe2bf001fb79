// Package table reads columns of Parquet files, some rows at a time.
//
// It stands between the reader of datasets and the library that decodes Parquet. A [Column] is a field of the file's rows: numbers or texts, one a
// row or lists of them to any depth, or images with their bytes and paths. Read gives rows of a row group, and decodes only the pages that hold them.
//
// Sizes that a file declares are checked before the library sees them: those of the footer's lists, of pages, and of what pages take when they are
// decompressed. A page has at most 2^24 values and 2^28 bytes, and a read at most 2^24 values, or 64 for each byte of its column chunk if that is
// more. Compressions other than snappy, gzip and zstd are not supported, and neither are encrypted files. Whatever is broken is a
// *dataset.FormatError of the format "lerobot".
package table
