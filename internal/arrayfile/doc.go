// Package arrayfile writes named arrays to a file, in the format of its name.
package arrayfile
