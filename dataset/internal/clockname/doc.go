// Package clockname recognises clocks: series of timestamps, by their names, and the units in which they count, by names or numbers.
package clockname
