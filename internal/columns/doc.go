// Package columns finds the columns of a stream that a plan names, the rotations among them, and names that come twice.
package columns
