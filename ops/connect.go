package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
)

// Connect lets several GPUs in one machine use each other's memory. After it, plans on one device may use tensors on
// the others, [Queue.After] can wait for their queues, and [Queue.Capture] can record work from several devices in one
// graph. The connection lasts until the devices are closed. Connecting twice is fine. If the devices have different
// kinds, the error is an *ArgError with the kind ErrWrongDevice; if GPUs cannot reach each other, the kind is
// ErrUnsupported.
func Connect(devices ...*Device) error {
	for i, d := range devices {
		if d == nil {
			return &ArgError{Op: "Connect", Arg: fmt.Sprintf("devices[%d]", i), Kind: ErrMissing, Got: "nil", Want: "a device"}
		}
		if err := d.open("Connect"); err != nil {
			return err
		}
	}
	for i, d := range devices {
		b, err := capable[backend.Connector](d, "Connect")
		if err != nil {
			return err
		}
		var others []backend.Backend
		for j, o := range devices {
			if j != i && o != d {
				others = append(others, o.backend)
			}
		}
		if err := b.Connect(others); err != nil {
			return err
		}
	}
	return nil
}
