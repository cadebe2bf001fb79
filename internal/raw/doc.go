// Package raw shows the memory of numbers as bytes, in the order of the machine, so that files and devices are read into it and written from it without
// a copy on the way, and gives memory that is not cleared to those that fill all of it.
package raw
