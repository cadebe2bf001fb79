// Package flightlog holds a real flight log of 6.5 seconds for the examples; testdata says where from, and its licence.
package flightlog
