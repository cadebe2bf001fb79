package serve

import "os"

// Memory is memory that is shared with each process that receives its descriptor. It is a memfd: it has no name and is freed with its last
// holder. It cannot shrink, so that reading it never faults.
type Memory struct {
	file *os.File
	data []byte
}

// File returns the descriptor. The memory still owns it.
func (m *Memory) File() *os.File { return m.file }

// Bytes returns the memory, aligned to a page.
func (m *Memory) Bytes() []byte { return m.data }
