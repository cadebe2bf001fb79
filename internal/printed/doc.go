// Package printed writes texts that a file gives, such as names, so that a terminal obeys nothing in them.
package printed
