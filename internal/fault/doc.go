// Package fault makes calls to file systems and object stores fail in tests.
package fault
