package cudadrv

import "sync"

// handle is an object of the driver that was made in a context.
type handle struct {
	child
	mu     sync.RWMutex // held for reading while a driver call uses h
	h      uintptr
	closed bool
	own    bool // of the context itself: not counted
}

// begin returns the driver's handle, which stays valid until end.
func (x *handle) begin(op string) (uintptr, error) {
	x.mu.RLock()
	if err := x.usable(op); err != nil {
		x.mu.RUnlock()
		return 0, err
	}
	return x.h, nil
}

func (x *handle) end() { x.mu.RUnlock() }

// usable returns an error if the object is closed or its device is lost. The caller holds the lock.
func (x *handle) usable(op string) error {
	if x.closed {
		return &ClosedError{Op: op, What: x.kind.String()}
	}
	return x.ctx.dev.Lost()
}

// destroy closes the object with a function of the driver, which call calls.
func (x *handle) destroy(s slot, call func(s slot, f *frame, args ...uintptr) Code) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	if !x.own {
		defer x.drop()
	}
	if x.ctx.dev.Lost() != nil {
		return nil
	}
	f := getFrame()
	defer f.put()
	return x.ctx.dev.check(s, call(s, f, x.h))
}

// do runs one call with the handle.
func (x *handle) do(op string, s slot, call func(f *frame, h uintptr) Code) error {
	h, err := x.begin(op)
	if err != nil {
		return err
	}
	defer x.end()
	f := getFrame()
	defer f.put()
	return x.ctx.dev.check(s, call(f, h))
}

// query reports whether the object's work is done.
func (x *handle) query(s slot) (done bool, err error) {
	err = x.do("Query", s, func(f *frame, h uintptr) Code {
		code := x.ctx.free(s, f, h)
		if done = code == Success; code == ErrNotReady {
			return Success
		}
		return code
	})
	return done, err
}
