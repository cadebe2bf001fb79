package program

import "fmt"

// An UnsupportedError names an instruction that this device, or PTX itself, does not have.
type UnsupportedError struct {
	Line   int
	Text   string
	Reason string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("cudasim: line %d: %s: %s", e.Line, e.Text, e.Reason)
}

// unsupported is the panic of a handler that cannot compile its instruction.
type unsupported string

func fail(format string, args ...any) { panic(unsupported(fmt.Sprintf(format, args...))) }
