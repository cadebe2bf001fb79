package nn

import (
	"fmt"
	"strings"

	"github.com/robocache/robocache/ops"
)

// Error reports an invalid argument for a network, a step or a file. Nothing was written. Example: Op "NewModel", Layer
// "encoder", Arg "Heads".
type Error struct {
	Op    string // the function: "NewModel"
	Layer string // the name of the layer or parameter, if the error is about one
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

// Unwrap returns Kind, so errors.Is can test for it.
func (e *Error) Unwrap() error { return e.Kind }

// NotFiniteError means that training met a number that is not finite and stopped. Parameters and moments are usually those before
// that step. There is one exception: if the batch, the loss and, with Training.MaxNorm, the norm were finite but single gradients
// were not, the other elements have made the step. If the number came with the batch, an *ops.ValueError is joined to this error
// and has its position.
type NotFiniteError struct {
	Step int64 // the first step with such a number, counted from 1
}

func (e *NotFiniteError) Error() string {
	return fmt.Sprintf("nn: a value, a loss or a gradient in step %d is not finite: nothing was trained since", e.Step)
}

// orderOfLayers is the Arg if a layer must not follow the layer before it.
const orderOfLayers = "the order of layers"

func option(layer, arg string, got any, want string) error {
	return &Error{Op: "NewModel", Layer: layer, Arg: arg, Kind: ops.ErrOption, Got: fmt.Sprint(got), Want: want}
}
