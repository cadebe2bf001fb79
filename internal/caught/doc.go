// Package caught takes a panic of one goroutine to where its work is waited for: a goroutine that panics by itself ends the whole program.
package caught
