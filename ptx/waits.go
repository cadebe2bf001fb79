package ptx

import "bytes"

// Waits reports whether an entry of the image holds griddepcontrol.wait, without which a kernel must not be launched before the
// one ahead of it on the stream has ended. Of machine code, the PTX that it came from tells.
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

// waits looks in the entry's own body: compiled kernels call no functions.
func waits(text []byte, entry string) bool {
	_, body, found := bytes.Cut(text, []byte(".entry "+entry+"("))
	body, _, ends := bytes.Cut(body, []byte("\n}"))
	return found && ends && bytes.Contains(body, []byte("griddepcontrol.wait;"))
}
