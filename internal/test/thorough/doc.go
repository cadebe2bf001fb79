// Package thorough says how many of many cases tests take, so that all of them together end in minutes: some, and all where ROBOCACHE_LONG=1 asks for
// them. It is for cases that differ in numbers drawn at random or in what other tests show too.
package thorough
