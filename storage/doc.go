// Package storage opens files by path or URL: a path and file:// are local, another scheme, such as s3://, is that of a package that registered it.
//
// Readers of recordings take their files from here, so that each of them reads from object stores too. What a URL's file holds is read by ranges,
// never downloaded whole.
package storage
