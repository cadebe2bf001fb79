// Package memory is the address space of simulated devices. It gives allocations addresses that are never used twice, holds
// their bytes, and records which bytes were written. Sizes and addresses are bytes. All calls may come from any goroutine; none
// blocks for long.
package memory
