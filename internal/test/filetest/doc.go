// Package filetest reads and writes files for tests. An error ends the test.
package filetest
