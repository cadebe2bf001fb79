package release

import (
	"bytes"
	"debug/elf"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// platforms maps each Linux processor to Python's name for it, and the loader that the binary requests.
var platforms = map[string]struct {
	python, loader string
	machine        elf.Machine
}{
	"amd64": {"x86_64", "/lib64/ld-linux-x86-64.so.2", elf.EM_X86_64},
	"arm64": {"aarch64", "/lib/ld-linux-aarch64.so.1", elf.EM_AARCH64},
}

// The tag manylinux_2_17 promises a binary that needs only these libraries (PEP 513, PEP 599) and no symbols from a glibc after 2.17.
var libraries = []string{
	"ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "libresolv.so.2", "librt.so.1", "libutil.so.1",
}

const glibcMinor = 17 // minor version of glibc 2

// CheckELF returns an error if the binary at path does not run on Linux with every glibc from 2.17 on. The error names the unmet
// requirement.
func CheckELF(path, arch string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	p, ok := platforms[arch]
	if !ok || f.Machine != p.machine {
		return fmt.Errorf("%s: it is for %v, want %s", path, f.Machine, arch)
	}
	for _, prog := range f.Progs {
		if prog.Type != elf.PT_INTERP {
			continue
		}
		name := make([]byte, prog.Filesz)
		if _, err := prog.ReadAt(name, 0); err != nil {
			return fmt.Errorf("%s: its loader: %w", path, err)
		}
		if got := string(bytes.TrimRight(name, "\x00")); got != p.loader {
			return fmt.Errorf("%s: it asks for the loader %s, want %s", path, got, p.loader)
		}
	}
	needs, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: the libraries that it needs: %w", path, err)
	}
	for _, name := range needs {
		if !slices.Contains(libraries, name) {
			return fmt.Errorf("%s: it needs %s, which manylinux_2_%d does not promise", path, name, glibcMinor)
		}
	}
	// A static binary has none of these sections.
	if f.SectionByType(elf.SHT_DYNSYM) == nil {
		return nil
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return fmt.Errorf("%s: its symbols: %w", path, err)
	}
	for _, s := range symbols {
		if s.Version != "" && !old(s.Version) {
			return fmt.Errorf("%s: it needs %s of %s, which glibc 2.%d does not have", path, s.Name, s.Version, glibcMinor)
		}
	}
	return nil
}

// old reports whether glibc 2.17 has a symbol version, such as GLIBC_2.2.5.
func old(version string) bool {
	rest, ok := strings.CutPrefix(version, "GLIBC_2.")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return ok && err == nil && n <= glibcMinor
}
