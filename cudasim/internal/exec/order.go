package exec

// snapshot returns the clocks that the warp has seen, including its own clock now. Accesses after the call are not covered.
func (w *Warp) snapshot() clockSet {
	s := make(clockSet, len(w.known)+1)
	for k, v := range w.known {
		s[k] = v
	}
	own := make([]uint32, w.b.run.warps)
	copy(own, s[w.b.index])
	own[w.index] = w.clock
	s[w.b.index] = own
	w.clock++
	return s
}

// syncMap returns the sync objects of a space.
func (b *block) syncMap(sp SpaceKind) map[uint64]clockSet {
	if sp == SpaceShared {
		return b.syncs
	}
	if b.run.syncs == nil {
		b.run.syncs = map[uint64]clockSet{}
	}
	return b.run.syncs
}

// release publishes the warp's clocks at an address, for threads that acquire them. A store replaces the clocks published there; with
// add set, as for an atomic, they are merged.
func (w *Warp) release(sp SpaceKind, addr uint64, s clockSet, add bool) {
	m := w.b.syncMap(sp)
	if !add {
		m[addr] = s
		return
	}
	old := m[addr]
	fresh := make(clockSet, len(old)+len(s))
	fresh.learn(old)
	fresh.learn(s)
	m[addr] = fresh
}

// releaseTo publishes the warp's clocks through an mbarrier, and acquireFrom adds the clocks published there to the warp's.
func (w *Warp) releaseTo(at uint64) {
	if w.b.racing {
		w.release(SpaceShared, at, w.snapshot(), true)
	}
}

func (w *Warp) acquireFrom(at uint64) {
	if w.b.racing {
		w.known.learn(w.b.syncs[at])
	}
}

// synced orders the lanes of a warp after a collective.
func (w *Warp) synced() {
	if w.b.racing {
		w.clock++
	}
}

// ordered orders the accesses of a warp before and after a fence.
func (w *Warp) ordered() {
	if w.b.racing {
		w.known.learn(w.pending)
		w.pending = nil
		w.fenced = w.snapshot()
	}
}

// arrived adds the warp's clocks to a barrier.
func (w *Warp) arrived(bar *barrier) {
	if w.b.racing {
		bar.known.learn(w.snapshot())
		bar.fenced.learn(w.fenced)
	}
}

// completed passes the clocks of a barrier to all warps that wait at it.
func (b *block) completed(bar *barrier, id int) {
	if !b.racing {
		return
	}
	for i := range b.warps {
		w := &b.warps[i]
		for _, g := range w.groups {
			if g.wait == waitBar && int(g.bar) == id {
				w.known.learn(bar.known)
				if len(bar.fenced) > 0 {
					fenced := clockSet{}
					fenced.learn(w.fenced)
					fenced.learn(bar.fenced)
					w.fenced = fenced
				}
				break
			}
		}
	}
}

// strongAccess orders memory around an access that other threads see at once.
func (w *Warp) strongAccess(in *Inst, sp SpaceKind, addr uint64, kind accessKind) {
	if kind != accessWrite {
		from := w.b.syncMap(sp)[addr]
		if in.X.Acquire {
			w.known.learn(from)
		} else {
			w.pending.learn(from)
		}
	}
	if kind != accessRead {
		what := w.fenced
		if in.X.Release {
			what = w.snapshot()
		}
		if kind != accessAtomic || len(what) > 0 {
			w.release(sp, addr, what, kind == accessAtomic)
		}
	}
}
