// Package memory computes how much memory the process may take, and refuses larger allocations before they are made.
//
// The limit is the least of four numbers: MemAvailable, the memory cgroups from the process's own up to the root, the address space (RLIMIT_AS), and
// --max-memory. An input is also limited by its own size: see Check.
//
//	if err := memory.Check("chunk", 1<<30, file.Size()); err != nil {
//		return err // a *memory.Error
//	}
package memory
