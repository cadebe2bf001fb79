// Package bz2 unpacks bzip2 from memory to memory, with tables that are kept from one stream to the next: a chunk of a bag is unpacked in half the time
// that compress/bzip2 takes, and leaves no garbage.
//
// The format has no document of its own. A block is Huffman codes of up to six tables, which change every 50 symbols, of the runs and places of a
// move-to-front list, of the last column of a Burrows-Wheeler transform, of bytes of which four alike are followed by a count of more.
package bz2
