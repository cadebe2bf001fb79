// Package cloudtest holds what the tests of the readers of point clouds share.
package cloudtest
