// Package gputest gives tests a GPU. Without one a test is skipped; where the environment variable
// ROBOCACHE_REQUIRE_GPU is 1 it fails instead, so that a machine meant to have a GPU cannot pass by skipping.
package gputest
