// Package exampletest has helpers for the tests of the example programs.
package exampletest
