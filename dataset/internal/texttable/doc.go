// Package texttable reads numeric text tables: one row per line, with one or two clock columns. It reads a file of any size as a
// stream, and keeps only the timestamps and the numbers.
//
// A broken line loses only itself, and is counted with its number. The format packages decide whether a text is a table, and which
// columns it has.
package texttable
