// Package filetest reads and writes the files of tests. An error ends the test.
package filetest
