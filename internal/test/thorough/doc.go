// Package thorough chooses the number of test cases, so that all tests together end in minutes: a part by default, and all if
// ROBOCACHE_LONG=1 is set. It is for cases that differ only in random numbers, or that repeat the promises of other tests.
package thorough
