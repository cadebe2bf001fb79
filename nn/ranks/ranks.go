package ranks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
)

// MaxCount is the largest number of ranks.
const MaxCount = 16

// Group is a rank's connection to the others. Exchange must not be called concurrently; the other methods may be called from any
// goroutine.
type Group struct {
	rank, count int
	links       []*link // rank 0 has a link to each other rank, by rank; the others have one, to rank 0

	mu      sync.Mutex
	err     error
	watches []func()
	broken  chan struct{} // closed when err is set
	readers sync.WaitGroup
}

// LostError means that a rank has ended, which ends the group.
type LostError struct {
	Rank int
	Why  string // the rank's own reason; empty if it gave none, for example because it was killed
}

func (e *LostError) Error() string {
	return fmt.Sprintf("ranks: rank %d has ended: %s", e.Rank, cmp.Or(e.Why, "without a word, as a process that was killed does"))
}

// ApartError means that two ranks are at different points in the program.
type ApartError struct {
	Ranks     [2]int
	Got, Want string // the occasion of the second rank, and of the first
}

func (e *ApartError) Error() string {
	return fmt.Sprintf("ranks: rank %d is at %q, rank %d at %q, want all to do the same", e.Ranks[0], e.Want, e.Ranks[1], e.Got)
}

// Rank returns the number of this process, from 0.
func (g *Group) Rank() int { return g.rank }

// Count returns the number of processes.
func (g *Group) Count() int { return g.count }

// Err returns the reason why the group has ended: a *LostError, an *ApartError, or the error of an ended ctx. It is nil while the
// group works.
func (g *Group) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Watch arranges one call of fn, on a separate goroutine, when the group ends. If it has ended already, the call happens at once.
func (g *Group) Watch(fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.broken:
		go fn()
	default:
		g.watches = append(g.watches, fn)
	}
}

// fail ends the group with err, unless it has ended. Rank 0 first sends the reason to the other ranks.
func (g *Group) fail(err error) {
	g.end(err, func(l *link) error {
		if g.rank != 0 {
			return nil
		}
		lost := &LostError{Why: err.Error()}
		errors.As(err, &lost)
		return l.write(left, appendLeft(nil, lost))
	})
}

// end ends the group with err, unless it has ended: it calls tell for each link, and then starts the functions from Watch. If
// another goroutine is ending the group, end waits for it. Errors from tell are ignored, because a rank that gets no message has
// ended, or will notice that this rank has ended.
func (g *Group) end(err error, tell func(l *link) error) {
	g.mu.Lock()
	first := g.err == nil
	if first {
		g.err = err
	}
	g.mu.Unlock()
	if !first {
		<-g.broken
		return
	}
	for _, l := range g.links {
		if l != nil {
			_ = tell(l)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.broken)
	for _, fn := range g.watches {
		go fn()
	}
	g.watches = nil
}

// Exchange sends mine to all ranks, waits for all, and returns their bytes by rank. what is a name for the occasion, for example
// "the end of step 5", and must be the same in all ranks. If it differs, the error is an *ApartError. An *ApartError, a
// *LostError and the end of ctx also end the group.
func (g *Group) Exchange(ctx context.Context, what string, mine []byte) ([][]byte, error) {
	if len(what)+len(mine) > maxFrame/MaxCount {
		return nil, fmt.Errorf("ranks: %s: got %d bytes, want at most %d", what, len(mine), maxFrame/MaxCount-len(what))
	}
	all, err := g.exchange(ctx, what, mine)
	if err != nil {
		g.fail(err)
		return nil, g.Err()
	}
	return all, nil
}

func (g *Group) exchange(ctx context.Context, what string, mine []byte) ([][]byte, error) {
	said := appendPart(appendPart(nil, []byte(what)), mine)
	if g.rank != 0 {
		if err := g.links[0].write(speak, said); err != nil {
			return nil, &LostError{Rank: 0}
		}
		frame, err := g.next(ctx, g.links[0])
		if err != nil {
			return nil, err
		}
		return parts(frame, g.count)
	}
	all := make([][]byte, g.count)
	all[0] = mine
	for rank, l := range g.links {
		if l == nil {
			continue
		}
		frame, err := g.next(ctx, l)
		if err != nil {
			return nil, err
		}
		said, err := parts(frame, 2)
		if err != nil {
			return nil, err
		}
		if string(said[0]) != what {
			return nil, &ApartError{Ranks: [2]int{0, rank}, Got: string(said[0]), Want: what}
		}
		all[rank] = said[1]
	}
	var frame []byte
	for _, part := range all {
		frame = appendPart(frame, part)
	}
	for rank, l := range g.links {
		if l == nil {
			continue
		}
		if err := l.write(speak, frame); err != nil {
			return nil, &LostError{Rank: rank}
		}
	}
	return all, nil
}

// next returns the next frame from a link. After the end of the group, it first returns the frames that had arrived before.
func (g *Group) next(ctx context.Context, l *link) ([]byte, error) {
	var err error
	select {
	case frame := <-l.said:
		return frame, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.done:
		err = &LostError{Rank: l.rank, Why: "it is done"}
	case <-g.broken:
		err = g.Err()
	}
	select {
	case frame := <-l.said:
		return frame, nil
	default:
		return nil, err
	}
}

// Leave ends this rank's part in the group. If why is not nil, it also ends the group, and the other ranks get why in a
// *LostError. A second Leave does nothing.
func (g *Group) Leave(why error) {
	if why == nil {
		g.end(&LostError{Rank: g.rank, Why: "it has left"}, func(l *link) error { return l.write(done, nil) })
	} else {
		lost := &LostError{Rank: g.rank, Why: why.Error()}
		errors.As(why, &lost) // an error that the others already know stays as it is
		g.fail(lost)
		if g.rank != 0 {
			_ = g.links[0].write(left, appendLeft(nil, lost))
		}
	}
	for _, l := range g.links {
		if l != nil {
			_ = l.conn.Close()
		}
	}
	g.readers.Wait()
}
