// Package replay runs exported plans of package record: [New] is a backend of package ops that records and exports every job, encodes and decodes the plan, and
// runs what is decoded. It shows that an exported plan is complete, on any driver; a program that computes in Go takes package ops/cuda.
package replay
