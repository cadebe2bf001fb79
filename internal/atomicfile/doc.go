// Package atomicfile writes files so that a name refers to the old content or the new one, never to a part.
//
// The content is written to a temporary file next to the final name, flushed to the disk, read back, compared, and renamed. If the name
// is a symbolic link, the linked file is replaced and the link stays. A [Folder] gets its name in the same way, but its writer must
// read the files back. A program that ends by a signal calls [Abandon] first, so that no partial output stays. [Lock] ensures that only
// one program writes an output.
package atomicfile
