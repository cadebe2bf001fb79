package cuda

import (
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// sizeOf is the size of an argument as the launcher packs it.
func sizeOf(arg any) int {
	switch arg.(type) {
	case uint32, float32:
		return 4
	case int64, uint64, float64, cudadrv.DevicePtr:
		return 8
	}
	return 0
}

func testJob(dtype tensor.DType) *ops.ResampleJob {
	return &ops.ResampleJob{
		ResampleArgs: ops.ResampleArgs{
			Src: tensor.Must(tensor.New(dtype, 2, 3, 4)), SrcTimes: tensor.Must(tensor.New(tensor.I64, 2, 3)),
			Dst: tensor.Must(tensor.New(dtype, 2, 5, 4)), Targets: ops.Uniform(0, 1, 5),
		},
		B: 2, S: 3, T: 5, D: 4, TimesRows: 2, TimesBatch: 3, Channels: []ops.Channel{{Lo: 0, Hi: 4, Kind: ops.Slerp}}, Check: true,
	}
}

func TestArgumentsMatchTheEntrysParameters(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16} {
		job, cell := testJob(dtype), &faultCell{}
		b := &backend{sms: 132}
		items := []any{uint64(0), cudadrv.DevicePtr(0)}
		one := countItems([]ops.Channel{{Hi: 1}})
		for _, n := range new(itemSorts).halves(1) {
			items = append(items, n)
		}
		for name, args := range map[string][]any{
			"resample_" + dtype.String():          args(job, ops.Linear, b.cutChunks(job, b.model("resample_f32", 1000, false), vectorOf(job)), cell, job.Rows()),
			"resample_channels_" + dtype.String(): append(args(job, 0, b.cutItems(job, b.model("resample_channels_f32", 1000, false), one), cell, job.Rows()), items...),
			"resample_curves_" + dtype.String():   append(args(job, 0, b.cutItems(job, b.model("resample_curves_f32", 1000, false), one), cell, job.Rows()), items...),
		} {
			_, entry, ok := ptx.Lookup(name)
			require.True(t, ok, name)
			require.Len(t, args, len(entry.Params), name)
			for i, param := range entry.Params {
				assert.Equal(t, param.Size, sizeOf(args[i]), "%s, argument %d, a %T", name, i, args[i])
			}
		}
	}
}

func TestBlocksFitTheKernels(t *testing.T) {
	b := &backend{sms: 132}
	for _, d := range []int{1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 129, 256, 512, 1000, 100000} {
		for _, rows := range []int{1, 31, 1000, 1 << 20, 1 << 33} {
			job := testJob(tensor.BF16)
			job.B, job.T, job.D = 1, rows, d
			job.Channels = []ops.Channel{{Lo: 0, Hi: d, Kind: ops.Pchip}}
			for name, limit := range map[string]int{"resample_bf16": maxTile, "resample_channels_bf16": maxChannelsTile, "resample_plain_bf16": mostEach * plainThreads, "resample_odd_bf16": mostTile} {
				for _, c := range append(takenBy(name).all(), b.model(name, rows*d, false)) {
					cut := b.cutItems(job, c, countItems(job.Channels))
					switch chunks := d / 8; {
					case name == "resample_bf16":
						cut = b.cutChunks(job, c, vectorOf(job))
					case name == "resample_plain_bf16" && (chunks < 1 || chunks > mostEach*plainThreads):
						continue // isPlain
					case name == "resample_plain_bf16":
						cut = b.cutPlain(job, c, chunks)
						assert.LessOrEqual(t, cut.tile*cut.chunks, cut.each*plainThreads)
					}
					if name == "resample_odd_bf16" {
						cut = b.grid(job, c, c.cap(b.cutOdd(d, 2, oddForm(d), 1, rows, 1, false)))
					}
					what := fmt.Sprintf("%s, %d targets of %d features: %v, %+v", name, rows, d, c, cut)
					assert.NoError(t, c.check(name), what)
					assert.True(t, cut.tile >= 1 && cut.tile <= limit, what)
					assert.GreaterOrEqual(t, cut.tile*cut.blocks, rows, what)
				}
			}
		}
	}
}

// The kernel divides by multiplying: mul.hi of a number below 2^31 and the factor, shifted.
func TestDividerDividesEveryNumber(t *testing.T) {
	for _, d := range []int{2, 3, 5, 7, 31, 32, 33, 1000, 1023, 1024, 1025, 4096, 999983, 1 << 30, 1<<30 + 1, math.MaxInt32} {
		magic, shift := divider(d, math.MaxInt32)
		require.Less(t, shift, uint32(32))
		for _, n := range []uint32{0, 1, uint32(d) - 1, uint32(d), uint32(d) + 1, 2*uint32(d) - 1, 1<<31 - 1, 1<<31 - 2, (1<<31 - 1) / uint32(d) * uint32(d), 123456789} {
			if n >= 1<<31 {
				continue
			}
			hi, _ := bits.Mul32(n, magic)
			assert.Equal(t, n/uint32(d), hi>>shift, "%d / %d", n, d)
		}
	}
	magic, _ := divider(1000, math.MaxInt32+1)
	assert.Zero(t, magic, "too many targets for 31 bits")
}

func TestThreadsFindTheirChunk(t *testing.T) {
	for chunks := 1; chunks < 2000; chunks++ {
		magic := uint32((1<<20 + chunks - 1) / chunks)
		for thread := range uint32(513) {
			if got := thread * magic >> 20; got != thread/uint32(chunks) {
				t.Fatalf("thread %d of %d chunks: got %d", thread, chunks, got)
			}
		}
	}
}

// Blocks of odd rows: what a block divides it divides exactly, and what its threads keep of their rows fits its shared memory.
func TestOddRowsAreCutExactly(t *testing.T) {
	for _, sms := range []int{1, 132} {
		for d := 1; d < 3000; d++ {
			for _, form := range []plainForm{unitRows, oddWide, oddNarrow, oddOwn} {
				if form == oddWide != (d >= wideOdd) && form != unitRows || form == oddOwn && d > mostOwn {
					continue
				}
				cut := (&backend{sms: sms}).cutOdd(d, 4, form, 2, 1<<(d%24), float32(d%5), d%2 == 1)
				what := fmt.Sprintf("%d features, form %d: %+v", d, form, cut)
				require.True(t, cut.tile >= 1 && cut.tile <= mostTile && cut.chunks >= 1, what)
				if form == oddOwn {
					require.LessOrEqual(t, 2*d*cut.tile, 8*mostTile, what)
				}
				magic := uint64(oddMagic(cut))
				for _, n := range []int{0, 1, cut.chunks - 1, cut.tile*cut.chunks - cut.chunks, cut.tile*cut.chunks - 1} {
					require.Less(t, uint64(n)*magic, uint64(1<<32), what)
					require.Equal(t, uint64(n/cut.chunks), uint64(n)*magic>>20, what)
				}
			}
		}
	}
}

// Blocks of runs divide their elements' numbers exactly by those of a row.
func TestRunsAreCutExactly(t *testing.T) {
	for _, sms := range []int{1, 132} {
		b := &backend{sms: sms}
		for d := leastRun; d <= widestRun; d += 1 + d/64 {
			for _, rows := range []int{1, 7, 800, 64_000, 128_000, 1 << 21} {
				for _, launch := range []ops.LaunchMode{ops.LaunchPlain, ops.LaunchInputsReady} {
					job := testJob(tensor.BF16)
					job.B, job.T, job.D, job.Launch = 1, rows, d, launch
					cut := b.cutRun(job, choice{Tile: mostTile, Threads: plainThreads, Check: checkShare})
					what := fmt.Sprintf("%d rows of %d: %+v", rows, d, cut)
					require.True(t, cut.tile >= 1 && cut.tile <= mostTile && cut.blocks*cut.tile >= rows, what)
					most := uint64(cut.tile * d)
					for _, n := range []uint64{0, 1, uint64(d - 1), uint64(d), most - uint64(d), most - 1} {
						require.Equal(t, n/uint64(d), n*uint64(runMagic(d))>>32, what)
					}
				}
			}
		}
	}
}

// Which plain jobs go which way. Host tensors count as aligned here.
func TestPlainForms(t *testing.T) {
	for _, c := range []struct {
		dtype   tensor.DType
		d, step int // features; elements from a sample to the next
		form    plainForm
		unit    int
	}{
		{tensor.BF16, 8, 8, wholeRows, 4}, {tensor.F32, 4, 4, wholeRows, 4},
		{tensor.BF16, 44, 44, unitRows, 3}, {tensor.BF16, 26, 26, unitRows, 2}, {tensor.BF16, 14, 16, unitRows, 2}, {tensor.BF16, 16, 20, unitRows, 3},
		{tensor.F32, 7, 7, unitRows, 2}, {tensor.F32, 4, 5, unitRows, 2}, {tensor.F32, 6, 6, unitRows, 3},
		{tensor.BF16, 3, 3, oddOwn, 1}, {tensor.BF16, 8, 9, oddOwn, 1}, {tensor.F16, 14, 15, oddNarrow, 1}, {tensor.F16, 17, 17, runRows, 1}, {tensor.F16, 18, 19, runRows, 1}, {tensor.BF16, 113, 113, runRows, 1},
	} {
		host := tensor.Must(tensor.New(c.dtype, 4096))
		job := testJob(c.dtype)
		job.Channels = []ops.Channel{{Hi: c.d}}
		job.D, job.SrcStep, job.SrcBatch, job.DstStep, job.DstBatch, job.TimesBatch = c.d, c.step, 3*c.step, c.d, 5*c.d, 3
		job.Src = tensor.Must(host.AsStrided([]int{2, 3, c.d}, []int{3 * c.step, c.step, 1}, 0))
		job.Dst = tensor.Must(host.AsStrided([]int{2, 5, c.d}, []int{5 * c.d, c.d, 1}, 0))
		form, unit := plainFormOf(job)
		assert.Equal(t, []any{c.form, c.unit}, []any{form, unit}, "%+v", c)
	}
}

// Which launches are direct: small ones by themselves, of jobs that direct.cuh takes. Others are cut for the plain kernel, and their choice says so.
func TestWhatIsDirect(t *testing.T) {
	b := &backend{sms: 132}
	job := func(change func(*ops.ResampleJob)) *ops.ResampleJob {
		j := testJob(tensor.F32)
		j.Channels, j.D, j.S, j.T, j.TimesBatch = []ops.Channel{{Hi: 4}}, 4, 4, 2, 4
		change(j)
		return j
	}
	for _, c := range []struct {
		name   string
		change func(*ops.ResampleJob)
		chunks int
		want   bool
	}{
		{"the smallest", func(*ops.ResampleJob) {}, 1, true},
		{"as many units as a block has threads", func(*ops.ResampleJob) {}, plainThreads, true},
		{"one more", func(*ops.ResampleJob) {}, plainThreads + 1, false},
		{"rows of three samples", func(j *ops.ResampleJob) { j.S = 3 }, 1, false},
		{"one target a row", func(j *ops.ResampleJob) { j.T = 1 }, 1, false},
		{"another kind", func(j *ops.ResampleJob) { j.Channels[0].Kind = ops.Nearest }, 1, false},
	} {
		j := job(c.change)
		s := b.cutPlain(j, choice{Each: 4, Threads: plainThreads, Check: checkShare, Direct: true}, c.chunks)
		assert.Equal(t, c.want, s.direct, c.name)
		assert.Equal(t, map[bool]string{true: "fuse_direct_f32", false: "fuse_plain_f32"}[c.want], s.kernel("fuse_plain_f32"), c.name)
		assert.False(t, b.cutPlain(j, choice{Each: 4, Threads: plainThreads, Check: checkShare}, c.chunks).direct, c.name)
	}
	const most = directBlocks * plainThreads * 132
	assert.True(t, b.model("resample_plain_bf16", most, false).Direct)
	assert.False(t, b.model("resample_plain_bf16", most+1, false).Direct)
	const mostOfFuse = directFuseBlocks * plainThreads * 132
	assert.True(t, b.model("fuse_plain_bf16", mostOfFuse, false).Direct)
	assert.False(t, b.model("fuse_plain_bf16", mostOfFuse+1, false).Direct)
	assert.False(t, b.model("resample_plain_bf16", most, true).Direct)
	assert.False(t, b.model("resample_odd_bf16", most, false).Direct)
	assert.Error(t, choice{Each: 1, Threads: 128, Check: 256, Direct: true}.check("resample_f32"))
	long := job(func(j *ops.ResampleJob) { j.S, j.TimesBatch, j.Check = 5000, 5000, true })
	assert.GreaterOrEqual(t, b.cutDirect(long, choice{Check: 4096}, 1).blocks*plainThreads*4, long.Stamps(), "a thread checks 16 bytes")
	held := directBlocks * 132 * warp * chunk / long.ClockType().Size()
	for stamps, want := range map[int]bool{held: true, held + 1: false} {
		j := job(func(j *ops.ResampleJob) { j.B, j.S, j.TimesBatch, j.TimesRows, j.Check = 1, stamps, stamps, 1, true })
		choice := choice{Each: 1, Threads: plainThreads, Check: 512, Direct: true}
		assert.Equal(t, want, b.cutPlain(j, choice, 1).direct, "more blocks that check than the device holds at once")
		j.Check = false
		assert.True(t, b.cutPlain(j, choice, 1).direct)
	}
	for stamps, want := range map[int]bool{directFuseBlocks * 132 * warp * chunk / 2 / long.ClockType().Size(): true, directFuseBlocks*132*warp*chunk/2/long.ClockType().Size() + 1: false} {
		part := plainPart{FusePart: &ops.FusePart{ResampleJob: job(func(j *ops.ResampleJob) { j.B, j.S, j.TimesBatch, j.TimesRows, j.Check = 1, stamps, stamps, 1, true })}, form: wholeRows, chunks: 1}
		for _, s := range b.cutPlainParts([]plainPart{part, part}, choice{Each: 4, Threads: plainThreads, Check: 256, Direct: true}) {
			assert.Equal(t, want, s.direct, "two streams of %d stamps", stamps)
		}
	}
	fused := []plainPart{{FusePart: &ops.FusePart{ResampleJob: long}, form: wholeRows, chunks: 1}, {FusePart: &ops.FusePart{ResampleJob: job(func(j *ops.ResampleJob) { j.S = 3 })}, form: wholeRows, chunks: 1}}
	for _, s := range b.cutPlainParts(fused, choice{Each: 4, Threads: plainThreads, Check: 256, Direct: true}) {
		assert.False(t, s.direct, "all streams or none")
	}
}

// Which launches are made ahead: those by themselves, not the smallest nor the largest, of linear jobs that take about every other sample. A plan has a
// second launch for when the guesses go astray.
func TestWhatIsAhead(t *testing.T) {
	b := &backend{sms: 132}
	ahead := choice{Each: 4, Threads: plainThreads, Check: checkShare, Ahead: true}
	for _, c := range []struct {
		name   string
		change func(*ops.ResampleJob)
		chunks int
		want   bool
	}{
		{"every other sample", func(*ops.ResampleJob) {}, 4, true},
		{"three of two", func(j *ops.ResampleJob) { j.T = 667 }, 4, true},
		{"and more", func(j *ops.ResampleJob) { j.T = 668 }, 4, false},
		{"five of two", func(j *ops.ResampleJob) { j.T = 401 }, 4, true},
		{"and fewer", func(j *ops.ResampleJob) { j.T = 400 }, 4, false},
		{"one unit a target", func(*ops.ResampleJob) {}, 1, false},
		{"two", func(*ops.ResampleJob) {}, 2, true},
		{"as many units as a block makes", func(*ops.ResampleJob) {}, 256, true},
		{"one more", func(*ops.ResampleJob) {}, 257, false},
		{"one target a row", func(j *ops.ResampleJob) { j.T = 1 }, 4, false},
		{"another kind", func(j *ops.ResampleJob) { j.Channels[0].Kind = ops.Nearest }, 4, false},
		{"inputs ready", func(j *ops.ResampleJob) { j.Launch = ops.LaunchInputsReady }, 4, false},
	} {
		j := testJob(tensor.F32)
		j.Channels, j.S, j.T, j.TimesBatch, j.Launch = []ops.Channel{{Hi: 4}}, 1001, 501, 1001, ops.LaunchPlain
		c.change(j)
		s := b.cutPlain(j, ahead, c.chunks)
		assert.Equal(t, c.want, s.ahead, c.name)
		if c.want {
			assert.LessOrEqual(t, s.tile, plainThreads, c.name)
			assert.Equal(t, "resample_ahead_f32", s.kernel("resample_plain_f32"), c.name)
		}
	}
	const direct = directBlocks * plainThreads * 132
	for chunks, want := range map[int]bool{direct: false, direct + 1: true, mostAhead: true, mostAhead + 1: false} {
		assert.Equal(t, want, b.model("resample_plain_bf16", chunks, false).Ahead, chunks)
		assert.False(t, b.model("resample_plain_bf16", chunks, true).Ahead, chunks)
		assert.False(t, b.model("fuse_plain_bf16", chunks, false).Ahead, chunks)
		assert.False(t, b.model("resample_odd_bf16", chunks, false).Ahead, chunks)
	}
	assert.NoError(t, ahead.check("resample_plain_bf16"))
	assert.Error(t, ahead.check("fuse_plain_bf16"))
	ahead.Direct = true
	assert.Error(t, ahead.check("resample_plain_bf16"))
	d := decision{model: choice{Each: 2, Threads: plainThreads, Check: checkShare, Ahead: true}}
	assert.Equal(t, choice{Each: 2, Threads: plainThreads, Check: checkShare}, d.careful().choice)
}

// Which launches prefetch: of blocks with some targets, of sources without gaps, most of whose rows are needed. In a fusion each stream does or does
// not.
func TestWhatIsPrefetched(t *testing.T) {
	b := &backend{sms: 132}
	all := choice{Each: 4, Threads: plainThreads, Check: checkShare, Prefetch: true}
	for _, c := range []struct {
		name        string
		change      func(*ops.ResampleJob)
		chunks      int
		want, fused bool
	}{
		{"more targets than samples", func(*ops.ResampleJob) {}, 4, true, true},
		{"one sample", func(j *ops.ResampleJob) { j.S, j.SrcBatch = 1, 4 }, 4, false, false},
		{"one target", func(j *ops.ResampleJob) { j.T = 1 }, 4, false, false},
		{"gaps between samples", func(j *ops.ResampleJob) { j.SrcStep = 5 }, 4, false, false},
		{"gaps between rows", func(j *ops.ResampleJob) { j.SrcBatch++ }, 4, false, false},
		{"of which there is one", func(j *ops.ResampleJob) { j.SrcBatch++; j.B = 1 }, 4, true, true},
		{"another kind", func(j *ops.ResampleJob) { j.Channels[0].Kind = ops.Nearest }, 4, true, true},
		{"inputs ready", func(j *ops.ResampleJob) { j.Launch = ops.LaunchInputsReady }, 4, true, true},
		{"four targets a block", func(*ops.ResampleJob) {}, 128, true, true},
		{"three", func(*ops.ResampleJob) {}, 129, false, false},
		{"seven of five", func(j *ops.ResampleJob) { j.T = 716 }, 4, true, true},
		{"and fewer", func(j *ops.ResampleJob) { j.T = 714 }, 4, false, true},
		{"every fourth, 16 bytes each", func(j *ops.ResampleJob) { j.T = 252 }, 4, false, true},
		{"and fewer, which skips a sector", func(j *ops.ResampleJob) { j.T = 250 }, 4, false, false},
	} {
		j := testJob(tensor.F32)
		j.Channels, j.B, j.D, j.S, j.T, j.TimesBatch, j.SrcStep, j.SrcBatch, j.Launch = []ops.Channel{{Hi: 4}}, 2, 4, 1001, 2000, 1001, 4, 4004, ops.LaunchPlain
		c.change(j)
		assert.Equal(t, c.want, b.cutWhole(j, all, c.chunks).prefetch, c.name)
		parts := []plainPart{{FusePart: &ops.FusePart{ResampleJob: j}, form: wholeRows, chunks: c.chunks}}
		assert.Equal(t, c.fused, b.cutPlainParts(parts, all)[0].prefetch, c.name)
		none := all
		none.Prefetch = false
		assert.False(t, b.cutWhole(j, none, c.chunks).prefetch, c.name)
	}
	assert.NoError(t, all.check("fuse_plain_bf16"))
	assert.Error(t, all.check("resample_odd_bf16"))
	assert.True(t, b.model("fuse_plain_bf16", 1, true).Prefetch)
	assert.False(t, b.model("resample_odd_bf16", 1, true).Prefetch)
	assert.Equal(t, choice{Each: 4, Threads: plainThreads, Check: checkShare}, (&decision{model: all}).careful().choice)
}

// A block checks by the model what its threads read at once, if there are blocks to spare.
func TestBlocksCheckInOneTurn(t *testing.T) {
	for clock, want := range map[tensor.DType]int{tensor.F32: 512, tensor.F64: 256, tensor.I64: 256} {
		assert.Equal(t, want, oneTurn(plainThreads, clock), clock)
		assert.Equal(t, 256, oneTurn(warp, clock), clock)
		assert.Contains(t, checkShares, oneTurn(plainThreads, clock))
	}
}

// Launches whose inputs are ready overlap, and take few large blocks where others take many small ones.
func TestInputsReadyTakeLargeBlocks(t *testing.T) {
	b := &backend{sms: 132}
	const rows = 64000
	for _, name := range []string{"resample_plain_bf16", "resample_f32", "fuse"} {
		assert.Equal(t, 1, b.model(name, rows, false).Each, name)
		assert.Equal(t, 2, b.model(name, rows, true).Each, name)
	}
	assert.Equal(t, 64, b.cutOdd(3, 2, oddOwn, 1, rows, 1, false).tile)
	assert.Equal(t, 256, b.cutOdd(3, 2, oddOwn, 1, rows, 1, true).tile)
	// Units of rows that are far apart are made in one turn, where there are blocks enough; others in as many as fit.
	assert.Equal(t, []int{157, 39, 39, 157}, []int{b.cutOdd(26, 2, unitRows, 2, 1<<20, 1, false).tile, b.cutOdd(26, 2, unitRows, 2, 1<<20, oddApart, false).tile,
		b.cutOdd(26, 2, unitRows, 2, 39*132*oddBlocks, oddApart, false).tile, b.cutOdd(26, 2, unitRows, 2, 39*132*oddBlocks-1, 1, false).tile})
	few := []posePiece{{kind: ops.Linear, n: 3}}
	assert.Equal(t, choice{Tile: mostTile, Threads: 2 * warp, Check: checkShare}, b.modelPoses(20000, few, false))
	assert.Equal(t, choice{Tile: mostTile, Threads: 4 * warp, Check: checkShare}, b.modelPoses(20000, few, true))
	turned := []posePiece{{kind: ops.Slerp, n: 4}, {kind: ops.Linear, n: 3}}
	for _, c := range []struct {
		targets, tile, threads int
		ready                  bool
	}{{1000, warp, 2 * warp, false}, {1000, mostTile, warp, true}, {32000, warp, 2 * warp, false}, {rows, mostTile, 4 * warp, false}, {rows, mostTile, 4 * warp, true}} {
		assert.Equal(t, choice{Tile: c.tile, Threads: c.threads, Check: checkShare}, b.modelPoses(c.targets, turned, c.ready), "%v", c)
	}
	small, large := b.model("fuse_plain_f32", 1000, false), b.model("fuse_plain_f32", 1<<20, false)
	assert.Equal(t, []int{2, checkShare / 4, pieces, checkShare / 2}, []int{small.Each, small.Check, large.Each, large.Check})
}
