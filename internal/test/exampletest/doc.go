// Package exampletest is what the tests of the examples share.
package exampletest
