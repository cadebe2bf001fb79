// Package streamtest makes streams of sampled functions for tests.
package streamtest
