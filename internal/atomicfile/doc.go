// Package atomicfile writes files so that a name holds the old content or the new one, never a part.
//
// The content goes into a file beside the final name, is flushed to the disk, is read back and compared with what was written, and is renamed over
// it. A name that is a symbolic link stays one: what it links to is written. A [Folder] of files gets its name in the same way; its files are read
// back by who writes them. A program that a signal ends calls [Abandon] first, and nothing half-written stays.
// Of programs that would write the same, [Lock] lets one do it.
package atomicfile
