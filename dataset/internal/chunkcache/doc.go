// Package chunkcache keeps decoded chunks of arrays, because the next rows that a reader wants often lie in the same chunk.
package chunkcache
