package program

import "fmt"

// An unsupportedError names an instruction that this device does not have, or that PTX does not.
type UnsupportedError struct {
	Line   int
	Text   string
	Reason string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("cudasim: line %d: %s: %s", e.Line, e.Text, e.Reason)
}

// unsupported is the panic with which a handler gives up on its instruction.
type unsupported string

func fail(format string, args ...any) { panic(unsupported(fmt.Sprintf(format, args...))) }
