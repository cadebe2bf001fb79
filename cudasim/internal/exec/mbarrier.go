package exec

import (
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/cudasim/report"
)

// mbarStep executes one lane's part on the object at an offset of shared memory.
type mbarStep func(w *Warp, in *Inst, lane int, m *mbar, at uint64) error

// onMbar returns the step that calls f for each lane with the object at the lane's address. If ready is set, the object must have been
// initialised.
func onMbar(ready bool, f mbarStep) Step {
	return func(w *Warp, in *Inst, exec uint32) Status {
		_, here, _, sp, st := w.access(in, exec, 8, accessNone)
		if st != StatusNext {
			return st
		}
		if sp != SpaceShared || here != exec {
			return w.Fail(report.OutOfBounds, in, exec, "an mbarrier outside of shared memory")
		}
		ofs := w.ofs
		for e := here; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			m := readMbar(w.b, ofs[i])
			was := m
			if ready && !m.ready {
				return w.Fail(report.Trap, in, 1<<i, fmt.Sprintf("the mbarrier at %#x was not initialised", ofs[i]))
			}
			if err := f(w, in, i, &m, ofs[i]); err != nil {
				return w.Fail(report.Trap, in, 1<<i, err.Error())
			}
			if !was.ready && !m.ready && was != (mbar{}) {
				return w.Fail(report.Trap, in, 1<<i, "the mbarrier was not initialised")
			}
			if m != was {
				m.write(w.b, ofs[i])
			}
		}
		return StatusNext
	}
}

// InitMbarrier executes mbarrier.init for in.B arrivals.
var InitMbarrier = onMbar(false, func(w *Warp, in *Inst, i int, m *mbar, _ uint64) error {
	n := w.Regs[in.B][i]
	if n == 0 || n > 0x7fff {
		return fmt.Errorf("an mbarrier of %d arrivals", n)
	}
	*m = mbar{count: n, pending: n, ready: true}
	return nil
})

// InvalMbarrier executes mbarrier.inval.
var InvalMbarrier = onMbar(false, func(_ *Warp, _ *Inst, _ int, m *mbar, _ uint64) error {
	*m = mbar{}
	return nil
})

// ExpectBytes returns the step of mbarrier.expect_tx for in.B bytes. With a sign of -1 it is complete_tx.
func ExpectBytes(sign int64) Step {
	return onMbar(false, func(w *Warp, in *Inst, i int, m *mbar, _ uint64) error {
		m.tx += sign * int64(w.Regs[in.B][i])
		m.settle()
		return nil
	})
}

// ArriveMbarrier returns the step of mbarrier.arrive, which writes the token to in.D. in.B holds the expected bytes, or the number of
// arrivals if the instruction counts them. With drop, later phases expect fewer arrivals by that number.
func ArriveMbarrier(expect, counted, drop bool) Step {
	return onMbar(true, func(w *Warp, in *Inst, i int, m *mbar, at uint64) error {
		w.releaseTo(at)
		w.Regs[in.D][i] = m.state()
		n := uint64(1)
		switch {
		case expect:
			m.tx += int64(w.Regs[in.B][i])
		case counted:
			n = w.Regs[in.B][i]
		}
		if n > m.pending {
			return fmt.Errorf("%d arrivals at an mbarrier that expects %d more", n, m.pending)
		}
		m.pending -= n
		if drop {
			m.count -= n
		}
		m.settle()
		return nil
	})
}

// TestMbarrier returns the step that sets in.PD if a phase has ended. in.B names the phase by its parity or its token. Copies that
// the phase waits for land now.
func TestMbarrier(parity bool) Step {
	return onMbar(true, func(w *Warp, in *Inst, i int, m *mbar, at uint64) error {
		w.b.landBulk(func(p *bulkCopy) bool { return p.bar == at })
		*m = readMbar(w.b, at)
		done := m.phase&1 != w.Regs[in.B][i]&1
		if !parity {
			done = m.phase != w.Regs[in.B][i]&0xfff
		}
		w.Preds[in.PD] &^= 1 << i
		if done {
			w.Preds[in.PD] |= 1 << i
			w.acquireFrom(at)
		} else {
			w.poll()
		}
		return nil
	})
}

// CopyArrive returns the step of cp.async.mbarrier.arrive: the thread's earlier cp.async land now, and the thread arrives. With inc,
// the count was raised for this arrival.
func CopyArrive(inc bool) Step {
	return onMbar(true, func(w *Warp, _ *Inst, i int, m *mbar, at uint64) error {
		w.cp.land(w, i, ^uint32(0))
		w.releaseTo(at)
		if inc {
			return nil
		}
		if m.pending == 0 {
			return fmt.Errorf("an arrival at an mbarrier that expects none")
		}
		m.pending--
		m.settle()
		return nil
	})
}
