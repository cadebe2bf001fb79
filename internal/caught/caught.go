package caught

import (
	"fmt"
	"runtime/debug"
)

// Panic is a panic, a mistake in the program. Its text has the stack of the goroutine that panicked.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n%s", p.Value, p.Stack) }

// Unwrap returns what the goroutine panicked with, if that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Do returns the error of do, or a *Panic if it panics. One that panics with a *Panic, taken from another goroutine, gives that one.
func Do(do func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *Panic:
			err = p
		default:
			err = &Panic{p, debug.Stack()}
		}
	}()
	return do()
}
