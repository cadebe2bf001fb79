// Package settest opens datasets and episodes in tests. An error ends the test.
package settest
