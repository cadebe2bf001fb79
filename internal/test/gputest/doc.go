// Package gputest opens a GPU for tests. Without a GPU it skips the test. If the environment variable ROBOCACHE_REQUIRE_GPU is 1, it
// fails the test instead, so that a machine that should have a GPU cannot pass by skipping.
package gputest
