// Package decimal parses numbers in text files: digits, a point, an exponent, nan and inf. It rejects the digit separators and
// hexadecimal floats from Go source, because no other program accepts them. It parses timestamps to nanoseconds without a float in
// between.
package decimal
