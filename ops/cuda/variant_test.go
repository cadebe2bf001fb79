package cuda

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// somewhere is memory with an address and nothing else.
type somewhere struct{ at uint64 }

func (s somewhere) Addr() uint64 { return s.at }
func (somewhere) Size() int64    { return 1 << 50 }
func (somewhere) Device() string { return "somewhere:0" }
func (somewhere) Close() error   { return nil }

// place is a tensor there.
func place(dtype tensor.DType, shape ...int) *tensor.Tensor {
	return tensor.Must(tensor.OnDevice(somewhere{1 << 40}, dtype, shape...))
}

// keeper is a backend that keeps the job that it is given, as the variants see it.
type keeper struct {
	backend.Backend
	job *backend.FuseJob
}

func (k *keeper) Describe() ops.Info                            { return ops.Info{Name: "somewhere:0"} }
func (k *keeper) NewQueue() (backend.Queue, error)              { return nil, nil }
func (k *keeper) Fuse(j *backend.FuseJob) (backend.Plan, error) { k.job = j; return nil, nil }
func (k *keeper) Resample(j *backend.ResampleJob) (backend.Plan, error) {
	k.job = singleStream(j)
	return nil, nil
}

// resample is a job of b rows of s samples onto n targets of d features, as the public API makes it: timestamps are int64.
func resample(dtype tensor.DType, b, s, n, d int, opts ops.ResampleOptions, changes ...func(*ops.ResampleArgs)) *backend.FuseJob {
	args := ops.ResampleArgs{Src: place(dtype, b, s, d), SrcTimes: place(tensor.I64, b, s), Dst: place(dtype, b, n, d), Targets: ops.Uniform(0, 1, n)}
	for _, change := range changes {
		change(&args)
	}
	k := &keeper{}
	dev, err := ops.NewDevice(k)
	if err == nil {
		_, err = dev.PlanResample(args, opts)
	}
	if err != nil {
		panic(err)
	}
	return k.job
}

// rowsOf is a stream of 3 rows of 10 samples.
func rowsOf(dtype tensor.DType, d int, opts ops.ResampleOptions) ops.FuseStream {
	return ops.FuseStream{Src: place(dtype, 3, 10, d), SrcTimes: place(tensor.I64, 3, 10), Options: opts}
}

// fuse is a job of 3 rows of streams onto n targets.
func fuse(dtype tensor.DType, n int, opts ops.FuseOptions, streams ...ops.FuseStream) *backend.FuseJob {
	width := 0
	for _, s := range streams {
		if width += s.Width; s.Width == 0 {
			width += s.Src.Shape()[2]
		}
	}
	k := &keeper{}
	dev, err := ops.NewDevice(k)
	if err == nil {
		_, err = dev.PlanFuse(ops.FuseArgs{Dst: place(dtype, 3, n, width), Targets: ops.Uniform(0, 1, n), Streams: streams}, opts)
	}
	if err != nil {
		panic(err)
	}
	return k.job
}

var (
	pose    = ops.ResampleOptions{Channels: []ops.Channel{{Lo: 3, Hi: 7, Interp: ops.InterpSlerp}}}
	pchip   = ops.ResampleOptions{Interp: ops.InterpPchip}
	nearest = ops.ResampleOptions{Interp: ops.InterpNearest}
	early   = ops.ResampleOptions{Launch: ops.LaunchInputsReady}
)

// h100 has the multiprocessors that launches are cut for where a test says nothing else.
func h100() *gpu { return &gpu{sms: 132} }

// jobs are one or more of each variant, by the variant that the heuristic gives them.
type chosen struct {
	what, variant string
	job           *backend.FuseJob
	list          []*variant
}

func jobs() []chosen {
	var out []chosen
	r := func(what, variant string, j *backend.FuseJob) {
		out = append(out, chosen{what, variant, j, resampleVariants})
	}
	f := func(what, variant string, j *backend.FuseJob) {
		out = append(out, chosen{what, variant, j, fuseVariants})
	}
	r("a small one", "resample_small", resample(tensor.BF16, 4, 100, 50, 32, ops.ResampleOptions{}))
	r("inputs ready", "resample_fast", resample(tensor.BF16, 4, 100, 50, 32, early))
	r("a large one", "resample_fast", resample(tensor.BF16, 64, 4096, 1024, 32, ops.ResampleOptions{}))
	r("another kind", "resample_fast", resample(tensor.F16, 4, 100, 50, 32, nearest))
	r("a pose", "resample_thread_per_row", resample(tensor.F32, 256, 500, 250, 7, pose))
	r("a few narrow rows", "resample_thread_per_row", resample(tensor.F32, 256, 500, 250, 3, ops.ResampleOptions{}))
	r("and ready", "fuse_unaligned_few", resample(tensor.F32, 256, 500, 250, 3, early))
	r("an odd number of halves", "resample_unaligned", resample(tensor.BF16, 256, 500, 250, 75, ops.ResampleOptions{}))
	r("halves in words", "fuse_fast_few", resample(tensor.BF16, 256, 500, 250, 26, ops.ResampleOptions{}))
	r("few of them", "fuse_small", resample(tensor.BF16, 4, 100, 50, 26, ops.ResampleOptions{}))
	r("many of them", "fuse_unaligned_few", resample(tensor.BF16, 256, 500, 250, 66, ops.ResampleOptions{}))
	r("an odd number of floats", "fuse_fast_few", resample(tensor.F32, 256, 500, 250, 9, ops.ResampleOptions{}))
	r("rows apart", "fuse_small", resample(tensor.F32, 2, 10, 50, 8, ops.ResampleOptions{}, func(a *ops.ResampleArgs) {
		a.Dst = tensor.Must(place(tensor.F32, 2, 50, 12).Slice(2, 0, 8))
	}))
	r("a pose with a limit", "resample_channels", resample(tensor.F32, 4, 100, 50, 7, ops.ResampleOptions{Channels: pose.Channels, MaxGap: ops.Within(time.Second)}))
	r("a pose of f64", "resample_channels_f64", resample(tensor.F64, 4, 100, 50, 7, pose))
	r("cubics", "resample_curves", resample(tensor.BF16, 4, 100, 50, 8, pchip))
	r("cubics of f64", "resample_curves_f64", resample(tensor.F64, 4, 100, 50, 8, pchip))
	r("beyond the ends", "resample", resample(tensor.F32, 4, 100, 50, 8, ops.ResampleOptions{Edge: ops.EdgeExtrapolate}))
	r("a conversion", "resample", resample(tensor.F32, 4, 100, 50, 8, ops.ResampleOptions{}, func(a *ops.ResampleArgs) { a.Dst = place(tensor.F64, 4, 50, 8) }))
	r("rows of lengths", "resample", resample(tensor.F32, 4, 100, 50, 8, ops.ResampleOptions{}, func(a *ops.ResampleArgs) { a.SrcLengths = place(tensor.I64, 4) }))
	r("f64", "resample_f64", resample(tensor.F64, 4, 100, 50, 8, ops.ResampleOptions{}))
	f("whole chunks", "fuse_small", fuse(tensor.F32, 5, ops.FuseOptions{}, rowsOf(tensor.F32, 8, ops.ResampleOptions{}), rowsOf(tensor.F32, 7, ops.ResampleOptions{})))
	f("inputs ready", "fuse_fast_few", fuse(tensor.F32, 5, ops.FuseOptions{Launch: ops.LaunchInputsReady}, rowsOf(tensor.F32, 8, ops.ResampleOptions{}), rowsOf(tensor.F32, 31, ops.ResampleOptions{})))
	f("another kind", "fuse_fast_few", fuse(tensor.F32, 5, ops.FuseOptions{}, rowsOf(tensor.F32, 8, nearest)))
	f("many small units", "fuse_unaligned_few", fuse(tensor.F32, 5, ops.FuseOptions{}, rowsOf(tensor.F32, 33, nearest), rowsOf(tensor.F32, 4, ops.ResampleOptions{})))
	f("halves", "fuse_unaligned_few", fuse(tensor.BF16, 5, ops.FuseOptions{}, rowsOf(tensor.BF16, 7, ops.ResampleOptions{}), rowsOf(tensor.BF16, 40, ops.ResampleOptions{})))
	f("dtypes of their own", "fuse_chunks", fuse(tensor.F32, 5, ops.FuseOptions{}, rowsOf(tensor.F16, 8, ops.ResampleOptions{}), rowsOf(tensor.F32, 8, ops.ResampleOptions{})))
	scaled := rowsOf(tensor.F32, 8, ops.ResampleOptions{})
	scaled.Scale = make([]float32, 8)
	f("normalised", "fuse_chunks", fuse(tensor.F32, 5, ops.FuseOptions{}, scaled))
	f("a missing one", "fuse_chunks", fuse(tensor.F32, 5, ops.FuseOptions{}, rowsOf(tensor.F32, 8, ops.ResampleOptions{}), ops.FuseStream{Width: 4}))
	f("values of 64 bits", "fuse", fuse(tensor.F32, 5, ops.FuseOptions{}, rowsOf(tensor.F64, 8, ops.ResampleOptions{})))
	f("a pose", "fuse", fuse(tensor.F32, 5, ops.FuseOptions{}, rowsOf(tensor.F32, 8, ops.ResampleOptions{}), rowsOf(tensor.F32, 7, pose)))
	most, halves := make([]ops.FuseStream, ops.MaxStreams), make([]ops.FuseStream, ops.MaxStreams)
	for i := range most {
		most[i], halves[i] = rowsOf(tensor.F32, i+1, ops.ResampleOptions{}), rowsOf(tensor.BF16, i+1, ops.ResampleOptions{})
	}
	f("as many as there may be", "fuse_small", fuse(tensor.F32, 5, ops.FuseOptions{}, most...))
	f("and in halves", "fuse_unaligned", fuse(tensor.BF16, 5, ops.FuseOptions{}, halves...))
	f("and ready", "fuse_fast", fuse(tensor.F32, 5, ops.FuseOptions{Launch: ops.LaunchInputsReady}, most...))
	return out
}

// Each kind of job gets the variant that is written down here; those that were asked before say why not.
func TestJobsGetTheirVariant(t *testing.T) {
	b, seen := h100(), map[string]bool{}
	for _, c := range jobs() {
		p := &plan{b: b}
		v, shapes := p.choose(c.list, c.job)
		seen[v.name] = true
		require.Equal(t, c.variant, v.name, c.what)
		assert.Equal(t, v.name, p.chosen.policy.Variant, c.what)
		assert.Len(t, shapes, len(c.job.Parts), c.what)
		for _, before := range c.list {
			why := before.whyNot(b, c.job)
			if before == v {
				assert.Empty(t, why, c.what)
				break
			}
			assert.NotEmpty(t, why, "%s: %s", c.what, before.name)
		}
	}
	for _, v := range append(resampleVariants, fuseVariants...) {
		assert.True(t, seen[v.name], "a job for %s", v.name)
	}
}

// mostTargets is how many a block of each kernel may have.
var mostTargets = map[string]int{"resample": ptx.ChunkTile, "resample_f64": ptx.ChunkTile, "fuse_chunks": ptx.ChunkTile, "fuse": ptx.ChunkTile,
	"resample_channels": ptx.ItemTile, "resample_channels_f64": ptx.ItemTile, "resample_curves": ptx.ItemTile, "resample_curves_f64": ptx.ItemTile,
	"resample_fast": ptx.MaxUnitsPerThread * threads, "fuse_fast": ptx.MaxUnitsPerThread * threads, "fuse_fast_few": ptx.MaxUnitsPerThread * threads, "resample_small": ptx.SmallMakers, "fuse_small": ptx.SmallMakers,
	"resample_unaligned": ptx.MaxTile, "fuse_unaligned_few": ptx.MaxTile, "fuse_unaligned": ptx.MaxTile, "resample_thread_per_row": 4 * warp}

// Whatever policy a variant has, its blocks cover all targets and have no more of them, nor units, than the kernel takes; what blocks and threads divide,
// they divide exactly.
func TestBlocksFitTheKernels(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	list := jobs()
	for _, d := range []int{1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 129, 512, 1000, 100_000} {
		for _, n := range []int{2, 31, 1000, 1 << 20, 1 << 29} {
			for _, opts := range []ops.ResampleOptions{{}, early, pchip, {Interp: ops.InterpAngle}} {
				list = append(list, chosen{fmt.Sprint(n, " targets of ", d), "", resample(tensor.BF16, 1, 10, n, d, opts), resampleVariants},
					chosen{"f64", "", resample(tensor.F64, 1, 10, n, d, opts), resampleVariants})
			}
			two := fuse(tensor.BF16, min(n, 1<<24), ops.FuseOptions{}, rowsOf(tensor.BF16, d, ops.ResampleOptions{}), rowsOf(tensor.BF16, 8, ops.ResampleOptions{}))
			list = append(list, chosen{fmt.Sprint(n, " targets of two streams, of ", d), "", two, fuseVariants})
		}
	}
	tried := map[string]int{}
	for _, sms := range []int{1, 132} {
		b := &gpu{sms: sms}
		for _, c := range list {
			for _, v := range c.list {
				if v.supports(b, c.job) != "" {
					continue
				}
				for _, policy := range append(v.tunable.All(v.name), v.heuristic(b, c.job)) {
					tried[v.name]++
					fits(t, b, v, c.job, policy, c.what)
				}
			}
		}
	}
	for name := range mostTargets {
		assert.Greater(t, tried[name], 10, name)
	}
}

// fits checks what a kernel asks of the blocks that a policy makes.
func fits(t *testing.T, b *gpu, v *variant, j *backend.FuseJob, c tuned.Policy, job string) {
	_, entry, ok := ptx.Lookup(v.name)
	require.True(t, ok, v.name)
	shapes := v.configure(b, j, c)
	var told parameters
	plain := v == resampleUnaligned || v == fuseUnaligned || v == fuseUnalignedFew || v == resampleFast || v == fuseFast
	if plain && len(shapes) <= len(ptx.FastStreams{}.Stream) { // others need a device for their table
		var err error
		told, err = v.params(&plan{b: b, Base: device.Base{Cell: &device.Cell{}}}, j, shapes)
		require.NoError(t, err)
	}
	for m, s := range shapes {
		what := fmt.Sprintf("%s: %v, %+v", job, c, s)
		require.True(t, s.tile >= 1 && s.tile <= mostTargets[v.name], what)
		require.GreaterOrEqual(t, s.tile*s.blocks, j.Rows(), what)
		require.LessOrEqual(t, s.threads, entry.MaxThreads, what)
		last, by, magic, shift := s.tile*s.chunks-1, s.chunks, chunkMagic(s.chunks), 20 // numbers up to the last are divided
		switch x := told.(type) {
		case *ptx.FastParams:
			magic = x.ChunkMagic
		case *ptx.FastStreams:
			magic = x.Stream[m].ChunkMagic
		case *ptx.UnalignedStreams:
			magic = x.Fast.Stream[m].ChunkMagic
		case *ptx.FewUnalignedStreams:
			magic = x.Fast.Stream[m].ChunkMagic
		case *ptx.UnalignedParams:
			last, by, magic, shift = s.tile*int(x.D)-1, int(x.D), x.DMagic, 32
		}
		switch v {
		case resampleFast, fuseFast, fuseFastFew:
			require.True(t, s.unitsPerThread <= ptx.MaxUnitsPerThread && s.tile*s.chunks <= s.unitsPerThread*threads, what)
		case resampleThreadPerRow:
			require.LessOrEqual(t, s.shared, maxSharedBytes, what)
			require.True(t, s.tile%warp == 0 && (s.threads == s.tile || s.threads == 2*warp && s.tile == warp), what)
			continue
		case fuseUnaligned, fuseUnalignedFew:
			if form, _ := unalignedForm(j.Parts[m].D, layoutsOf(j)[m]); form == ptx.UnalignedShort {
				require.LessOrEqual(t, 2*j.Parts[m].D*s.tile, 8*ptx.MaxTile, "what is kept of rows in shared memory: %s", what)
			}
			if s.tile == 1 {
				continue // a block of one target divides by none
			}
		case resampleSmall, fuseSmall, resampleUnaligned:
		default:
			last = s.threads
		}
		for _, n := range []int{0, by - 1, by, last - last%by, last} {
			if product := uint64(n) * uint64(magic); n <= last {
				require.True(t, shift == 32 || product < 1<<32, what)
				require.Equal(t, uint64(n/by), product>>shift, "%s: %d", what, n)
			}
		}
	}
}

// A kernel has one parameter, a struct as large as the one that package ptx generates.
func TestParametersFitTheKernels(t *testing.T) {
	drv, err := cudadrv.NewDriver(cudasim.New(cudasim.Config{}).FunctionTable())
	require.NoError(t, err)
	opened, err := New(drv, 0)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, opened.Close()) })
	b := opened.(*gpu)
	for _, c := range jobs() {
		for _, v := range c.list {
			if v.supports(b, c.job) != "" {
				continue
			}
			p := &plan{b: b, Base: device.Base{Cell: &device.Cell{}}}
			shapes := v.configure(b, c.job, v.heuristic(b, c.job))
			params, err := v.params(p, c.job, shapes)
			require.NoError(t, err)
			_, entry, ok := ptx.Lookup(v.name)
			require.True(t, ok && len(entry.Params) == 1, v.name)
			assert.Len(t, params.Bytes(), entry.Params[0].Size, "%s: %s", v.name, c.what)
			assert.LessOrEqual(t, entry.Params[0].Size, 4096, "what drivers before CUDA 12.1 take")
			// Streams have the blocks that follow each other.
			block := uint32(0)
			for m, s := range shapes {
				switch x := params.(type) {
				case *ptx.FuseParams:
					assert.Equal(t, []uint32{block, uint32(s.blocks)}, []uint32{x.FirstBlock[m], x.Stream[m].Blocks}, c.what)
				case *ptx.FastStreams:
					assert.Equal(t, block, x.FirstBlock[m], c.what)
				case *ptx.FewFastStreams:
					assert.Equal(t, block, x.FirstBlock[m], c.what)
				case *ptx.UnalignedStreams:
					assert.Equal(t, block, x.Fast.FirstBlock[m], c.what)
				case *ptx.FewUnalignedStreams:
					assert.Equal(t, block, x.Fast.FirstBlock[m], c.what)
				}
				block += uint32(s.blocks)
			}
			if p.table != nil {
				require.NoError(t, p.table.Close())
			}
		}
	}
}

// Launches whose inputs are ready overlap, and take few large blocks where others take many small ones.
func TestInputsReadyTakeLargeBlocks(t *testing.T) {
	b := h100()
	heuristic := func(v *variant, j *backend.FuseJob) tuned.Policy { return v.heuristic(b, j) }
	for i, opts := range []ops.ResampleOptions{{}, early} {
		chunks := resample(tensor.BF16, 64, 10, 1000, 8, opts)
		assert.Equal(t, i+1, heuristic(resampleFast, chunks).ItemsPerThread)
		assert.Equal(t, i+1, heuristic(resampleGeneral, chunks).ItemsPerThread)
		assert.Equal(t, i+1, heuristic(fuseAny, chunks).ItemsPerThread)
		odd := resample(tensor.BF16, 64, 10, 1000, 3, opts)
		assert.Equal(t, []int{64, 256}[i], fuseUnaligned.configure(b, odd, heuristic(fuseUnaligned, odd))[0].tile)
		assert.Equal(t, []int{64, 128}[i], heuristic(resampleThreadPerRow, resample(tensor.F32, 20, 10, 1000, 3, opts)).Tile)
		turned := func(n int) int {
			return heuristic(resampleThreadPerRow, resample(tensor.F32, n, 10, 1000, 7, ops.ResampleOptions{Channels: pose.Channels, Launch: opts.Launch})).Tile
		}
		assert.Equal(t, []int{warp, 128}[i], turned(32), "while the device holds all such blocks at once")
		assert.Equal(t, 128, turned(64))
	}
}

// A block checks by the heuristic what its threads read at once, if there are blocks to spare.
func TestBlocksCheckInOneTurn(t *testing.T) {
	for clock, want := range map[tensor.DType]int{tensor.F32: 512, tensor.F64: 256, tensor.I64: 256} {
		assert.Equal(t, want, checkPerTurn(threads, clock), clock)
		assert.Equal(t, 256, checkPerTurn(warp, clock), clock)
		assert.True(t, (&tuned.SearchSpace{}).Allows(tuned.Policy{Check: checkPerTurn(threads, clock)}))
	}
}
