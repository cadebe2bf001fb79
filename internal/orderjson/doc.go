// Package orderjson writes JSON as other projects have it: objects whose members keep their order, and numbers that Python reads as floats.
package orderjson
