// Package precision counts the numbers that an output's dtype could not hold.
package precision
