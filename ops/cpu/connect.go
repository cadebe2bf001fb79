package cpu

import "github.com/robocache/robocache/ops/backend"

// Connect implements backend.Connector. All devices on this backend share the host's memory.
func (b *Backend) Connect(others []backend.Backend) error {
	for _, o := range others {
		if _, ok := o.(*Backend); !ok {
			return &backend.ArgError{Op: "Connect", Arg: "devices", Kind: backend.ErrWrongDevice, Got: "cpu and " + o.Name(), Want: "devices of one kind"}
		}
	}
	return nil
}
