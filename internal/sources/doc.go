// Package sources lists and hashes the files that something was made of.
package sources
