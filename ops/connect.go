package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
)

// Connect opens the memory of devices to each other, GPUs of one machine: plans on one may name tensors of the others, [Queue.After] waits for their
// queues, and [Queue.Capture] makes one graph of the work of several. It holds until the devices are closed; to connect them again is fine. Devices of
// different kinds are an *ArgError that is ErrWrongDevice, GPUs that do not reach each other one that is ErrUnsupported.
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
