// Package memory knows how much memory the process may take, and refuses what is larger.
//
// The limit is the least of the memory that the system has available, the limits of the memory cgroups of the process and of all that contain these,
// the address space that the process may map, and --max-memory. An input is also limited by its size: see Check.
//
//	if err := memory.Check("chunk", 1<<30, file.Size()); err != nil {
//		return err // a *memory.Error
//	}
package memory
