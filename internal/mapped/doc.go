// Package mapped shows files as memory, so that what is never looked at is never read.
//
// A mapped file that is cut short while it is mapped takes the memory with it: to read what is gone is a fault, which would end the program. Who reads
// a [File] does so in [File.Guard], which makes an error of that, and keeps the memory from being unmapped meanwhile.
package mapped
