package serve

import "os"

// Memory is memory of this process and of whoever is sent its descriptor. It is a memfd, which has no name and is gone with the last that holds it; nobody
// can make it shorter, so that to read it is never a fault.
type Memory struct {
	file *os.File
	data []byte
}

// File is the descriptor to send, which stays the memory's.
func (m *Memory) File() *os.File { return m.file }

// Bytes is the memory, which begins with a page.
func (m *Memory) Bytes() []byte { return m.data }
