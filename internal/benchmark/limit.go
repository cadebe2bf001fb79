package benchmark

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// bind creates a launch of a reference kernel, such as the limit.
func (r *rig) bind(name string, blocks, threads int, args ...any) (*cudadrv.Launch, error) {
	return r.kernels.Bind(name, cudadrv.LaunchConfig{Grid: [3]uint32{uint32(blocks)}, Block: [3]uint32{uint32(threads)}, Dependent: r.opt.Launch != ops.LaunchDefault}, args...)
}

// early reports whether a reference kernel may begin before earlier work has ended, as plans may.
func (r *rig) early(name string) bool {
	return r.opt.Launch != ops.LaunchDefault && r.kernels.Early(name)
}

// limitOf measures the time to move a call's bytes. The string describes the method.
func (r *rig) limitOf(read, written int64, sets int) (Stats, string, error) {
	if r.queue == nil {
		return r.hostLimit(read, written, sets)
	}
	w := &work{sets: sets}
	s, how, err := r.deviceLimit(w, read, written, mostChunks)
	return s, how, errors.Join(err, w.close())
}

const speedOfLight = "rc_speed_of_light"

// mostChunks is how many 16-byte chunks a launch reads or writes at most, because the kernel numbers them by 32 bits.
const mostChunks = 1 << 31

// bindLimit creates a launch that reads in chunks and writes out chunks. Each thread writes `each` chunks, or reads four times as many.
func (r *rig) bindLimit(threads, each int, src cudadrv.DevicePtr, in uint64, dst cudadrv.DevicePtr, out uint64) (*cudadrv.Launch, error) {
	share := uint64(threads * each)
	blocks := max((max(out, in/4)+share-1)/share, 1)
	part := func(n uint64) uint32 { return uint32((n + blocks - 1) / blocks) }
	flags := ptx.CopyParamsFlags{Ready: r.opt.Launch == ops.LaunchInputsReady}
	params := ptx.CopyParams{Src: uint64(src), Dst: uint64(dst), In: uint32(in), InPerBlock: part(in), Out: uint32(out), OutPerBlock: part(out), Flags: flags.Word()}
	return r.bind(speedOfLight, int(blocks), threads, params.Bytes())
}

// deviceLimit measures the speed-of-light kernel, with a launch for every `most` chunks. It first finds the best launch shape in a
// short run, and then measures that shape at length.
func (r *rig) deviceLimit(w *work, read, written int64, most uint64) (Stats, string, error) {
	round := func(n int64) int { return int(max((n+15)/16, 1) * 16) }
	from, err := r.alloc(w, tensor.U8, w.sets, round(read))
	if err != nil {
		return Stats{}, "", err
	}
	to, err := r.alloc(w, tensor.U8, w.sets, round(written))
	if err != nil {
		return Stats{}, "", err
	}
	src, _ := from.Addr()
	dst, _ := to.Addr()
	if err := r.queue.Memset8(cudadrv.DevicePtr(src), 1, int64(w.sets*round(read))); err != nil {
		return Stats{}, "", err
	}
	chunks := [2]uint64{uint64(read+15) / 16, uint64(written+15) / 16}
	runs := max(1, (max(chunks[0], chunks[1])+most-1)/most)            // launches per call
	launches := func(threads, each int) ([][]*cudadrv.Launch, error) { // launches for each set
		out := make([][]*cudadrv.Launch, w.sets)
		for i := range out {
			from, to := cudadrv.DevicePtr(src)+cudadrv.DevicePtr(i*round(read)), cudadrv.DevicePtr(dst)+cudadrv.DevicePtr(i*round(written))
			for n := range runs {
				in, upto := chunks[0]*n/runs, chunks[0]*(n+1)/runs
				begin, end := chunks[1]*n/runs, chunks[1]*(n+1)/runs
				l, err := r.bindLimit(threads, each, from+cudadrv.DevicePtr(16*in), upto-in, to+cudadrv.DevicePtr(16*begin), end-begin)
				if err != nil {
					return nil, err
				}
				out[i] = append(out[i], l)
			}
		}
		return out, nil
	}
	timed := func(opt Options, bound [][]*cudadrv.Launch) (Stats, error) {
		quick := *r
		quick.opt = opt
		return quick.time(&work{sets: w.sets, run: func(i int) error {
			for _, l := range bound[i] {
				if err := l.Run(r.queue); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	short := r.opt
	short.Samples, short.Time = minSamples, 1
	var best [][]*cudadrv.Launch
	var how string
	var fastest float64
	for _, threads := range []int{128, 256, 512} {
		for _, each := range []int{1, 2, 4, 8} {
			bound, err := launches(threads, each)
			if err != nil {
				return Stats{}, "", err
			}
			s, err := timed(short, bound)
			if err != nil {
				return Stats{}, "", err
			}
			if best == nil || s.Median < fastest {
				best, fastest, how = bound, s.Median, fmt.Sprintf("%d threads, %d chunks each", threads, each)
			}
		}
	}
	if r.early(speedOfLight) {
		how += ", launched early"
	}
	s, err := timed(r.opt, best)
	return s, how, err
}

// empty measures a kernel that does nothing.
func (r *rig) empty() (Stats, error) {
	l, err := r.bind("rc_null", 1, 32)
	if err != nil {
		return Stats{}, err
	}
	return r.time(&work{sets: 1, run: func(int) error { return l.Run(r.queue) }})
}

// hostLimit measures reading and writing the bytes on the CPU: a copy, and then the rest of the larger side. It first finds the best
// thread count (powers of two, and all threads) in a short run, and then measures it at length.
func (r *rig) hostLimit(read, written int64, sets int) (Stats, string, error) {
	from, to := make([][]byte, sets), make([][]byte, sets)
	for i := range sets {
		from[i], to[i] = make([]byte, read), make([]byte, written)
		for k := range from[i] {
			from[i][k] = byte(k)
		}
	}
	timed := func(opt Options, threads int) (Stats, error) {
		quick := *r
		quick.opt = opt
		return quick.onTheWall(&work{sets: sets, run: func(i int) error {
			sink.Store(move(to[i], from[i], threads))
			return nil
		}})
	}
	short := r.opt
	short.Samples, short.Time = minSamples, 1
	best, fastest := 0, 0.0
	for threads, all := 1, runtime.GOMAXPROCS(0); ; threads = min(2*threads, all) {
		s, err := timed(short, threads)
		if err != nil {
			return Stats{}, "", err
		}
		if best == 0 || s.Median < fastest {
			best, fastest = threads, s.Median
		}
		if threads == all {
			break
		}
	}
	s, err := timed(r.opt, best)
	return s, fmt.Sprintf("%d threads", best), err
}

// sink receives the sum of the bytes read, so that the compiler keeps the reads.
var sink atomic.Uint64

// move reads all of src and writes all of dst, each once.
func move(dst, src []byte, threads int) uint64 {
	sums := make([]uint64, threads)
	share := func(i int) {
		part := func(b []byte) []byte { return b[len(b)*i/threads : len(b)*(i+1)/threads] }
		to, from := part(dst), part(src)
		n := copy(to, from)
		clear(to[n:])
		var sum uint64
		for from = from[n:]; len(from) >= 8; from = from[8:] {
			sum ^= binary.NativeEndian.Uint64(from)
		}
		sums[i] = sum
	}
	var wg sync.WaitGroup
	for i := 1; i < threads; i++ {
		wg.Go(func() { share(i) })
	}
	share(0)
	wg.Wait()
	var all uint64
	for _, s := range sums {
		all ^= s
	}
	return all
}
