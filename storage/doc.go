// Package storage opens files by path or URL. A plain path and file:// are local. Other schemes, such as s3:// and hf://, come from
// packages that register them.
//
//	f, err := storage.Open(ctx, "s3://bucket/run.mcap") // needs import _ "github.com/robocache/robocache/storage/s3"
//	defer f.Close()
//	n, err := f.ReadAt(b, 0)
//
// All readers of recordings open files through this package, so they can read from object stores too. Files at an s3:// URL are read by
// ranges and never downloaded as a whole. Package storage/hf keeps small files of the Hugging Face Hub in the Hub's cache.
package storage
