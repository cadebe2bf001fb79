// Package atomicfile writes a file so that its name holds the old content or the new one, never a part.
//
// The content goes into a file beside the final name, is flushed to the disk, and is renamed over it. A [File] that is
// closed before Commit leaves nothing behind.
package atomicfile
