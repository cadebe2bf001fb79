package ptx

import "bytes"

// Waits reports whether a kernel executes griddepcontrol.wait. If it does not, it must not be launched before the end
// of the kernel before it on the stream. For machine code, Waits searches the PTX that it was compiled from.
func (im Image) Waits(entry string) bool {
	if im.Kind == PTX {
		return waits(im.Data(), entry)
	}
	for _, p := range Images(im.Family) {
		if p.Kind == PTX && p.Hash == im.PTXHash {
			return waits(p.Data(), entry)
		}
	}
	return false
}

// waits searches the entry's own body only, because compiled kernels call no functions.
func waits(text []byte, entry string) bool {
	_, body, found := bytes.Cut(text, []byte(".entry "+entry+"("))
	body, _, ends := bytes.Cut(body, []byte("\n}"))
	return found && ends && bytes.Contains(body, []byte("griddepcontrol.wait;"))
}
