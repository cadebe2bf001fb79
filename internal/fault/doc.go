// Package fault makes calls of the file system and of object stores fail in tests.
package fault
