// Package texttable reads tables of numbers as text has them: a line a row, of which one column or a pair of columns is the clock. It reads a file
// of any size as a stream; what it keeps are the timestamps and the numbers.
//
// A line that is broken costs itself alone, and is counted with its number. Whether a text is a table, and of which columns, the formats decide.
package texttable
