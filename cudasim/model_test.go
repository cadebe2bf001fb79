package cudasim_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
)

// addKernel adds k to n words.
const addKernel = `
.version 7.8
.target sm_80
.address_size 64
.visible .entry add_word(.param .u64 at, .param .u32 k, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [at];
	ld.param.u32 %r1, [k];
	ld.param.u32 %r2, [n];
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r6, %r3, %r4, %r5;
	setp.ge.u32 %p1, %r6, %r2;
	@%p1 bra DONE;
	cvta.to.global.u64 %rd1, %rd1;
	mul.wide.u32 %rd2, %r6, 4;
	add.s64 %rd3, %rd1, %rd2;
	ld.global.u32 %r7, [%rd3];
	add.u32 %r7, %r7, %r1;
	st.global.u32 [%rd3], %r7;
DONE:
	ret;
}
`

const (
	modelWords   = 48
	modelBytes   = 4 * modelWords
	modelStreams = 3
	modelBuffers = 5
	modelPinned  = 2
)

// buffer is a piece of device or pinned memory, and what the model says it holds.
type buffer struct {
	mem  *cudadrv.DeviceMem
	host *cudadrv.HostMem
	want []byte
	last *cudadrv.Stream // what touched it last
}

// sequence is a run of driver operations beside the model. The model does each at once; the device does them when their
// streams get there, ordered by events wherever two streams touch one buffer.
type sequence struct {
	t       testing.TB
	next    func(n int) int // below n
	c       *cudadrv.Context
	streams []*cudadrv.Stream
	events  []*cudadrv.Event
	kernel  *cudadrv.Kernel
	device  [modelBuffers]*buffer
	pinned  [modelPinned]*buffer
	record  *recorded // while capturing
	graphs  []*recorded
	log     []string
}

// recorded is a graph and what it does to the model.
type recorded struct {
	exec    *cudadrv.GraphExec
	steps   []func()
	touches map[*buffer]bool
}

func (q *sequence) must(err error, what string) {
	if err != nil {
		require.NoError(q.t, err, "%s after %v", what, q.log)
	}
}

// use orders a stream after what touched a buffer last.
func (q *sequence) use(s *cudadrv.Stream, b *buffer) {
	if q.record != nil {
		q.record.touches[b] = true
		return
	}
	if b.last != nil && b.last != s {
		e := q.events[q.next(len(q.events))]
		q.must(b.last.Record(e), "record")
		q.must(s.WaitEvent(e), "wait for an event")
	}
	b.last = s
}

// model does a step to the model, or keeps it for the launches of the graph that is recorded.
func (q *sequence) model(step func()) {
	if q.record != nil {
		q.record.steps = append(q.record.steps, step)
		return
	}
	step()
}

func (q *sequence) word(b []byte, i int) []byte { return b[4*i : 4*i+4] }

// step does one operation on a stream.
func (q *sequence) step(s *cudadrv.Stream, op int) {
	b := q.device[q.next(modelBuffers)]
	from := q.next(modelWords)
	n := 1 + q.next(modelWords-from)
	at := b.mem.Ptr() + cudadrv.DevicePtr(4*from)
	switch op {
	case 0:
		v := uint8(q.next(256))
		q.use(s, b)
		q.must(s.Memset8(at, v, int64(4*n)), "memset8")
		q.model(func() {
			for i := range b.want[4*from : 4*(from+n)] {
				b.want[4*from+i] = v
			}
		})
	case 1:
		v := uint32(q.next(1 << 30))
		q.use(s, b)
		q.must(s.Memset32(at, v, int64(n)), "memset32")
		q.model(func() {
			for i := range n {
				binary.LittleEndian.PutUint32(q.word(b.want, from+i), v)
			}
		})
	case 2:
		k := uint32(q.next(1 << 30))
		q.use(s, b)
		l, err := q.kernel.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{2}, Block: [3]uint32{32}}, at, k, uint32(n))
		q.must(err, "bind")
		q.must(l.Run(s), "launch")
		q.model(func() {
			for i := range n {
				w := q.word(b.want, from+i)
				binary.LittleEndian.PutUint32(w, binary.LittleEndian.Uint32(w)+k)
			}
		})
	case 3:
		src := q.device[q.next(modelBuffers)]
		if src == b {
			return
		}
		q.use(s, b)
		q.use(s, src)
		q.must(s.CopyDevice(at, src.mem.Ptr()+cudadrv.DevicePtr(4*from), int64(4*n)), "copy")
		q.model(func() { copy(b.want[4*from:4*(from+n)], src.want[4*from:]) })
	case 4, 5:
		p := q.pinned[q.next(modelPinned)]
		q.use(s, b)
		q.use(s, p)
		if op == 4 {
			q.must(s.CopyToDevice(at, p.host, int64(4*from), int64(4*n)), "upload")
			q.model(func() { copy(b.want[4*from:4*(from+n)], p.want[4*from:]) })
		} else {
			q.must(s.CopyToHost(p.host, int64(4*from), at, int64(4*n)), "download")
			q.model(func() { copy(p.want[4*from:4*(from+n)], b.want[4*from:]) })
		}
	}
}

// again frees a buffer in the order of a stream and takes another in its place.
func (q *sequence) again(s *cudadrv.Stream) {
	i := q.next(modelBuffers)
	b := q.device[i]
	for _, g := range q.graphs {
		if g.touches[b] {
			return // the graph holds its address
		}
	}
	q.use(s, b)
	old := b.mem
	var err error
	b.mem, err = q.c.MallocAsync(s, modelBytes)
	q.must(err, "malloc")
	q.must(s.Memset32(b.mem.Ptr(), 7, modelWords), "memset32")
	for w := range modelWords {
		binary.LittleEndian.PutUint32(q.word(b.want, w), 7)
	}
	q.must(old.CloseAsync(s), "free")
	q.must(old.Close(), "free twice")
	err = s.Memset8(old.Ptr()+1, 0, 1)
	assert.ErrorIs(q.t, err, cudadrv.ErrInvalidValue, "memory that is freed")
}

// capture records a few steps on one stream.
func (q *sequence) capture(s *cudadrv.Stream) {
	r := &recorded{touches: map[*buffer]bool{}}
	q.record = r
	g, err := s.Capture(func(s *cudadrv.Stream) error {
		for range 1 + q.next(4) {
			q.step(s, q.next(6))
		}
		return nil
	})
	q.record = nil
	q.must(err, "capture")
	r.exec, err = g.Instantiate()
	q.must(err, "instantiate")
	q.must(g.Close(), "close a graph")
	q.graphs = append(q.graphs, r)
}

func (q *sequence) launchGraph(s *cudadrv.Stream) {
	if len(q.graphs) == 0 {
		return
	}
	r := q.graphs[q.next(len(q.graphs))]
	for b := range r.touches {
		q.use(s, b)
	}
	q.must(r.exec.Launch(s), "launch a graph")
	for _, step := range r.steps {
		step()
	}
}

// compare waits for all and looks at every buffer.
func (q *sequence) compare() {
	if q.next(2) == 0 {
		q.must(q.c.Synchronize(context.Background()), "synchronise")
	} else {
		for _, s := range q.streams {
			q.must(s.Synchronize(q.t.Context()), "synchronise a stream")
		}
	}
	for i, b := range q.device {
		got := make([]byte, modelBytes)
		q.must(q.c.CopyToHost(context.Background(), got, b.mem.Ptr()), "copy to host")
		require.Equal(q.t, b.want, got, "buffer %d after %v", i, q.log)
	}
	for i, p := range q.pinned {
		require.Equal(q.t, p.want, p.host.Bytes(), "pinned memory %d after %v", i, q.log)
	}
	for _, s := range q.streams {
		done, err := s.Query()
		q.must(err, "query")
		require.True(q.t, done)
	}
}

func runSequence(t testing.TB, next func(n int) int, more func() bool) {
	dev := cudasim.New(cudasim.Config{})
	drv, err := cudadrv.NewDriver(dev.FunctionTable())
	require.NoError(t, err)
	d0, err := drv.Device(0)
	require.NoError(t, err)
	c, err := d0.Primary()
	require.NoError(t, err)
	q := &sequence{t: t, next: next, c: c}
	m, err := c.LoadModule([]byte(addKernel))
	require.NoError(t, err)
	q.kernel, err = m.Kernel("add_word")
	require.NoError(t, err)
	for range modelStreams {
		s, err := c.NewStream(cudadrv.StreamOptions{})
		require.NoError(t, err)
		q.streams = append(q.streams, s)
		e, err := c.NewEvent(cudadrv.EventOptions{NoTiming: true})
		require.NoError(t, err)
		q.events = append(q.events, e)
	}
	for i := range q.device {
		b := &buffer{want: make([]byte, modelBytes)}
		b.mem, err = c.Malloc(context.Background(), modelBytes)
		require.NoError(t, err)
		require.NoError(t, c.Memset8(context.Background(), b.mem.Ptr(), 0, modelBytes))
		q.device[i] = b
	}
	for i := range q.pinned {
		p := &buffer{want: make([]byte, modelBytes)}
		p.host, err = c.MallocHost(modelBytes)
		require.NoError(t, err)
		q.pinned[i] = p
	}
	for more() {
		s := q.streams[next(modelStreams)]
		op := next(12)
		q.log = append(q.log, fmt.Sprint(op))
		switch op {
		case 6:
			q.again(s)
		case 7:
			if len(q.graphs) < 3 {
				q.capture(s)
			}
		case 8:
			q.launchGraph(s)
		case 9:
			if next(4) == 0 {
				q.compare()
			}
		case 10:
			_, err := s.Query()
			q.must(err, "query")
		case 11:
			err := s.Memset8(q.device[0].mem.Ptr(), 0, modelBytes+1)
			assert.ErrorIs(t, err, cudadrv.ErrInvalidValue, "one byte too many")
		default:
			q.step(s, op)
		}
	}
	q.compare()
	for _, g := range q.graphs {
		q.must(g.exec.Close(), "close")
	}
	for _, b := range q.device {
		q.must(b.mem.Close(), "close")
	}
	for _, p := range q.pinned {
		q.must(p.host.Close(), "close")
	}
	for i := range q.streams {
		q.must(q.events[i].Close(), "close")
		q.must(q.streams[i].Close(), "close")
	}
	q.must(m.Close(), "close")
	q.must(c.Close(), "close")
	require.Empty(t, dev.Leaks())
	require.NoError(t, d0.Lost())
}

func TestSequencesOfOperationsGiveWhatTheModelGives(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 1))
		left := 60
		runSequence(t, r.IntN, func() bool { left--; return left > 0 })
	}
}

// FuzzSequences reads the choices from its input.
func FuzzSequences(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b"))
	f.Add([]byte("captures and graphs \x07\x00\x01\x02\x08\x00\x06\x03"))
	f.Fuzz(func(t *testing.T, data []byte) {
		data = data[:min(len(data), 400)]
		runSequence(t, func(n int) int {
			v := 0
			for range 2 {
				if len(data) > 0 {
					v, data = v<<8|int(data[0]), data[1:]
				}
			}
			return v % n
		}, func() bool { return len(data) > 0 })
	})
}
