// Package memory is the address space of simulated devices. It gives allocations their addresses, none of them twice, keeps
// their bytes, and notes which bytes were written. Sizes and addresses are bytes. All calls may come from any goroutine; none
// blocks for long.
package memory
