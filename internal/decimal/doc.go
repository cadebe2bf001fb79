// Package decimal reads numbers as text files write them: digits, a point, an exponent, nan and inf; without the digit separators and hexadecimal
// floats of Go source, which no other program takes for numbers. It reads timestamps as nanoseconds without a float between.
package decimal
