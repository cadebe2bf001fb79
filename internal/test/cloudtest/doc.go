// Package cloudtest has helpers for the tests of point cloud readers: golden files, comparisons, and a writer of PCD files.
package cloudtest
