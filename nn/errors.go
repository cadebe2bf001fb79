package nn

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/ops"
)

// Error reports what a network, a step or a file cannot be made of. Nothing was written.
type Error struct {
	Op    string // the function: "NewModel"
	Layer string // the layer's or the parameter's name, if it is about one
	Arg   string // the field: "Heads"
	Kind  error  // one of package ops' Err values: ErrOption, ErrShape, ErrDType, ErrMissing, ErrTooLarge
	Got   string
	Want  string
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "nn.%s: ", e.Op)
	if e.Layer != "" {
		fmt.Fprintf(&b, "%s: ", e.Layer)
	}
	if e.Arg != "" {
		fmt.Fprintf(&b, "%s: ", e.Arg)
	}
	fmt.Fprintf(&b, "%v: got %s", e.Kind, e.Got)
	if e.Want != "" {
		fmt.Fprintf(&b, ", want %s", e.Want)
	}
	return b.String()
}

// Unwrap returns the kind, so that errors.Is finds it.
func (e *Error) Unwrap() error { return e.Kind }

// NotFiniteError says that training met a number that is not finite, and stopped there: parameters and moments are those before that step. Only where
// all of the batch, the loss and, with Training.MaxNorm, the norm were finite and single gradients are not, have the other elements made that step.
// Where the number came with the batch, an *ops.ValueError beside it says where.
type NotFiniteError struct {
	Step int64 // the first that met one, from 1
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("nn: a value, a loss or a gradient in step %d is not finite: nothing was trained since", e.Step)
}

// orderOfLayers is the Arg where a layer cannot stand where it does.
const orderOfLayers = "the order of layers"

func option(layer, arg string, got any, want string) error {
	return &Error{Op: "NewModel", Layer: layer, Arg: arg, Kind: ops.ErrOption, Got: fmt.Sprint(got), Want: want}
}
