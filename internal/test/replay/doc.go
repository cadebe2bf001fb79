// Package replay runs exported plans of package record. [New] returns a backend for package ops that exports every job, encodes and
// decodes the plan, and runs the decoded one. This tests that an exported plan is complete, on any driver. A program that computes in
// Go should use package ops/cuda.
package replay
