package cuda

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/device"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

func voxelJob(n int) *backend.VoxelizeJob {
	points := tensor.Must(tensor.New(tensor.F32, 1, 3))
	many := tensor.Must(points.Expand(n, 3))
	return &backend.VoxelizeJob{
		VoxelizeTensors: backend.VoxelizeTensors{Points: many, Coords: tensor.Must(tensor.New(tensor.I32, 5, 4))},
		Mode:            ops.VoxelHard, Reduce: backend.ReduceCount, Cells: [3]int{8, 4, 2}, N: n, B: 2, P: 3, V: 5,
	}
}

// denseJob is of a grid of the reduction's dtype, which is not as large as it says.
func denseJob(n, f, b int, cells [3]int, reduce ops.Reduce) *backend.VoxelizeJob {
	job := voxelJob(n)
	job.Mode, job.Reduce, job.F, job.B, job.Cells, job.Coords = ops.VoxelDense, reduce, f, b, cells, nil
	job.Grid = tensor.Must(tensor.New(reduce.DType(), 1))
	return job
}

func algorithmOf(b *gpu, job *backend.VoxelizeJob) string {
	v, _ := b.chooseVoxels(job)
	return v.name
}

func variantOf(t *testing.T, name string) *voxelVariant {
	i := slices.IndexFunc(voxelVariants, func(v voxelVariant) bool { return v.name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return &voxelVariants[i]
}

// Each kernel is launched by some algorithm, with a parameter of its entry's size.
func TestVoxelParametersHaveTheEntrysSize(t *testing.T) {
	hard, sparse, labels := voxelJob(1000), voxelJob(1000), denseJob(1000, 0, 1, [3]int{9, 9, 9}, backend.ReduceMajority)
	sparse.Mode, sparse.Reduce, sparse.F = ops.VoxelSparse, backend.ReduceMean, 3
	labels.Labels = tensor.Must(tensor.New(tensor.I32, 1))
	count, mean := denseJob(1000, 0, 1, [3]int{9, 9, 9}, backend.ReduceCount), denseJob(1000, 3, 1, [3]int{9, 9, 9}, backend.ReduceMean)
	wide := denseJob(1000, 0, 1, [3]int{9, 9, 9}, backend.ReduceCount)
	wide.Points = tensor.Must(tensor.New(tensor.F64, 1000, 3))
	doubles, doubleHard := denseJob(1000, 3, 1, [3]int{9, 9, 9}, backend.ReduceMean), voxelJob(1000)
	doubles.Points, doubles.Grid, doubles.Empty = wide.Points, tensor.Must(tensor.New(tensor.F64, 1)), .1
	doubleHard.Points = wide.Points
	seen := map[string]bool{}
	for _, x := range []struct {
		algorithm string
		job       *backend.VoxelizeJob
	}{{"fill", denseJob(0, 3, 1, [3]int{9, 9, 9}, backend.ReduceMean)}, {"write", count}, {"write", wide}, {"count", count}, {"atomic", mean}, {"bucket", mean}, {"group", mean}, {"sort", mean}, {"sort", labels}, {"sort", hard}, {"sort", sparse}, {"sort", doubles}, {"sort", doubleHard}} {
		for _, l := range layoutVoxels(x.job, 132, variantOf(t, x.algorithm), &device.Cell{}, 0).launches {
			_, entry, ok := ptx.Lookup(l.kernel)
			require.True(t, ok, l.kernel)
			require.Len(t, entry.Params, 1, l.kernel)
			assert.Equal(t, entry.Params[0].Size, len(l.params.Bytes()), l.kernel)
			seen[l.kernel] = true
		}
	}
	for _, family := range ptx.Families() {
		if !strings.HasPrefix(family, "voxel_") {
			continue
		}
		for _, e := range ptx.Images(family)[0].Entries {
			assert.True(t, seen[e.Name], "%s is launched", e.Name)
		}
	}
}

// The reductions of package ops have the kernels' numbers.
func TestVoxelReductionsHaveTheKernelsNumbers(t *testing.T) {
	for got, want := range map[ops.Reduce]int{
		ops.ReduceOccupancy: ptx.VoxelReductionOccupancy, backend.ReduceCount: ptx.VoxelReductionCount, backend.ReduceSum: ptx.VoxelReductionSum, backend.ReduceMean: ptx.VoxelReductionMean,
		backend.ReduceMax: ptx.VoxelReductionGreatest, backend.ReduceMin: ptx.VoxelReductionSmallest, backend.ReduceMajority: ptx.VoxelReductionMajority,
	} {
		assert.Equal(t, want, int(got), got)
	}
}

// Chunks cover the points, are whole tiles, and are not many more than the device has room for.
func TestChunksCoverThePoints(t *testing.T) {
	for _, n := range []int{0, 1, 2047, 2048, 2049, 1 << 20, 20_000_000, 1<<31 - 1} {
		c := voxelSorting{voxelChain: &voxelChain{job: voxelJob(n), sms: 132}}
		c.layoutTable()
		chunk := c.chunk()
		blocks := (n + chunk - 1) / chunk
		what := fmt.Sprintf("%d points: chunks of %d, %d tiles of %d a thread", n, chunk, c.tiles, c.itemsPerThread)
		assert.Zero(t, chunk%(ptx.WriteThreads*ptx.PointGroup), what)
		assert.LessOrEqual(t, blocks, 8*132, what)
		assert.GreaterOrEqual(t, c.tiles*c.itemsPerThread*ptx.SortThreads, n, what)
		assert.LessOrEqual(t, c.itemsPerThread, ptx.MaxPassKeys, what)
		assert.GreaterOrEqual(t, c.placesTiles*c.placesPerThread*ptx.SortThreads, n, what)
		assert.LessOrEqual(t, c.placesPerThread, ptx.MaxNumberPlaces, what)
	}
}

// Large counts are partitioned, on devices that have the shared memory for it.
func TestLargeCountsArePartitioned(t *testing.T) {
	counts := func(n int) *backend.VoxelizeJob { return denseJob(n, 0, 2, [3]int{256, 256, 256}, backend.ReduceCount) }
	full, small := &gpu{sms: 132, shared: 227 << 10}, &gpu{sms: 46, shared: 99 << 10}
	const enough = 132 * countPoints
	assert.Equal(t, "count", algorithmOf(full, counts(enough)))
	assert.Equal(t, "write", algorithmOf(full, counts(enough-1)))
	assert.Equal(t, "write", algorithmOf(small, counts(enough)))
	_, asked := small.chooseVoxels(counts(enough))
	assert.Equal(t, []Considered{{"fill", "there are points"}, {"count", "too little shared memory"}, {"write", ""}}, asked)
	larger := counts(enough)
	larger.Cells[2]++
	assert.Equal(t, "write", algorithmOf(full, larger), "%d cells", larger.Keys())
	c := layoutVoxels(counts(enough), 132, &voxelCount, &device.Cell{}, 0)
	assert.Less(t, c.size, 2*enough+4*ptx.Buckets*(enough/countTile)+1024, "two bytes a point, and a word for each bucket of a tile")
}

// Few points and features are added by atomics, on a table that is not too large.
func TestWhatIsAdded(t *testing.T) {
	b := &gpu{sms: 132, shared: 227 << 10}
	algorithm := func(n, f, cells int, reduce ops.Reduce) string {
		return algorithmOf(b, denseJob(n, f, 1, [3]int{cells, 1, 1}, reduce))
	}
	const most = 132 * atomicValues
	assert.Equal(t, "atomic", algorithm(most/4, 3, 100, backend.ReduceMean))
	assert.NotEqual(t, "atomic", algorithm(most/4+1, 3, 100, backend.ReduceMean))
	assert.Equal(t, "atomic", algorithm(most/3, 3, 100, backend.ReduceMax))
	assert.NotEqual(t, "atomic", algorithm(most/3+1, 3, 100, backend.ReduceMin))
	for reduce, words := range map[ops.Reduce]int{backend.ReduceMean: 12, backend.ReduceSum: 12, backend.ReduceMax: 4, backend.ReduceMin: 4} {
		assert.Equal(t, words, recordWords(denseJob(1, 3, 1, [3]int{1, 1, 1}, reduce)), reduce)
		assert.Equal(t, "atomic", algorithm(100, 3, atomicTable/words, reduce), reduce)
		assert.NotEqual(t, "atomic", algorithm(100, 3, atomicTable/words+1, reduce), reduce)
	}
	assert.Equal(t, "atomic", algorithm(100, 12, 100, backend.ReduceSum))
	assert.NotEqual(t, "atomic", algorithm(100, 13, 100, backend.ReduceSum))
	assert.Equal(t, "atomic", algorithm(100, 24, 100, backend.ReduceMax))
	assert.NotEqual(t, "atomic", algorithm(100, 25, 100, backend.ReduceMax))
	beside := denseJob(1, 0, 1, [3]int{100, 1, 1}, backend.ReduceCount)
	assert.Equal(t, "write", algorithmOf(b, beside))
	beside.Empty = -1
	assert.Equal(t, "atomic", algorithmOf(b, beside), "counts beside an empty value")
	assert.Equal(t, "sort", algorithm(9, 3, 100, backend.ReduceMajority))
}

// Sums, means and extremes are made of partitioned points, unless blocks or their memory would not do.
func TestWhatIsGrouped(t *testing.T) {
	full, small := &gpu{sms: 132, shared: 227 << 10}, &gpu{sms: 46, shared: 48 << 10}
	job := func(n int, cells [3]int, reduce ops.Reduce) *backend.VoxelizeJob {
		return denseJob(n, 4*atomicTurns+1, 2, cells, reduce) // so many features that nothing is added
	}
	room := [3]int{128, 128, 128}
	assert.Equal(t, "group", algorithmOf(full, job(1, room, backend.ReduceMean)))
	assert.Equal(t, "group", algorithmOf(full, job(1<<31-1, room, backend.ReduceMax)))
	few := 2 * 128 * 128 * 128 / 4 // of two rows
	assert.Equal(t, "group", algorithmOf(full, job(few-1, room, backend.ReduceMean)), "a cell in four has a point")
	assert.Equal(t, "bucket", algorithmOf(full, job(few, room, backend.ReduceMean)))
	assert.Equal(t, "bucket", algorithmOf(full, job(bucketPoints, room, backend.ReduceMin)))
	assert.Equal(t, "group", algorithmOf(full, job(bucketPoints+1, room, backend.ReduceMin)), "more points than blocks keep")
	assert.Equal(t, "bucket", algorithmOf(full, job(4*2*32*32*32, [3]int{32, 32, 32}, backend.ReduceSum)))
	assert.Equal(t, "group", algorithmOf(full, job(4*2*32*32*32+1, [3]int{32, 32, 32}, backend.ReduceSum)), "four points a cell")
	assert.Equal(t, "sort", algorithmOf(small, job(few, room, backend.ReduceMean)))
	assert.Equal(t, "sort", algorithmOf(full, job(9, room, backend.ReduceMajority)), "labels are sorted")
	assert.Equal(t, "write", algorithmOf(full, job(9, room, backend.ReduceCount)), "counts need no points together")
	assert.Equal(t, "fill", algorithmOf(full, job(0, room, backend.ReduceSum)))
	assert.Equal(t, "sort", algorithmOf(small, job(9, room, backend.ReduceSum)))
	assert.Equal(t, "sort", algorithmOf(full, job(9, [3]int{512, 512, 65}, backend.ReduceSum)), "a cell's number in its bucket has 16 bits")
	assert.Equal(t, "sort", algorithmOf(full, job(groupPoints+1, [3]int{16, 16, 15}, backend.ReduceSum)), "many points in few buckets")
	assert.Equal(t, "group", algorithmOf(full, job(groupPoints, [3]int{16, 16, 16}, backend.ReduceSum)))
	most := job(bucketPoints, [3]int{bucketPoints, 2, 1}, backend.ReduceSum) // of two rows
	assert.LessOrEqual(t, bucketShared(most), groupShared+6*ptx.BucketHeld)
	doubles := job(few, room, backend.ReduceMean)
	doubles.Grid = tensor.Must(tensor.New(tensor.F64, 1))
	assert.Equal(t, "sort", algorithmOf(full, doubles), "doubles are sorted")
	hard := job(9, room, backend.ReduceMean)
	hard.Mode = ops.VoxelHard
	assert.Equal(t, "sort", algorithmOf(full, hard))
	empty := voxelJob(0)
	assert.Equal(t, "sort", algorithmOf(full, empty), "rows of no points")
}

// An algorithm that is asked for takes what it supports, and nothing else.
func TestAnAlgorithmCanBeAskedFor(t *testing.T) {
	b := &gpu{sms: 132, shared: 227 << 10}
	mean, count := denseJob(9, 3, 1, [3]int{8, 8, 8}, backend.ReduceMean), denseJob(9, 0, 1, [3]int{8, 8, 8}, backend.ReduceCount)
	for _, b.voxelAlgorithm = range []string{"atomic", "bucket", "group", "sort"} {
		assert.Equal(t, b.voxelAlgorithm, algorithmOf(b, mean))
		assert.Equal(t, b.voxelAlgorithm, algorithmOf(b, count))
		assert.Equal(t, "sort", algorithmOf(b, voxelJob(9)))
	}
	b.voxelAlgorithm = "count"
	assert.Equal(t, "atomic", algorithmOf(b, mean))
	assert.Equal(t, "count", algorithmOf(b, count))
}

// Parts of the scratch memory are aligned, in it, and apart; and what is laid depends on nothing but the job, the device's size and the address.
func TestScratchPartsLieApart(t *testing.T) {
	type part struct {
		name  string
		at    uint64
		bytes int
	}
	const base = 1 << 20
	check := func(algorithm string, job *backend.VoxelizeJob, parts func(launches map[string]voxelLaunch) []part) {
		c := layoutVoxels(job, 132, variantOf(t, algorithm), &device.Cell{}, base)
		again := layoutVoxels(job, 132, variantOf(t, algorithm), &device.Cell{}, base)
		require.Len(t, again.launches, len(c.launches))
		for i, l := range c.launches {
			assert.Equal(t, l.params.Bytes(), again.launches[i].params.Bytes(), l.kernel)
		}
		assert.Equal(t, c.size, layoutVoxels(job, 132, variantOf(t, algorithm), &device.Cell{}, 0).size)
		launches := map[string]voxelLaunch{}
		for _, l := range c.launches {
			launches[l.kernel] = l // the last of each
		}
		list := append(parts(launches), part{"state", c.state, stateBytes})
		slices.SortFunc(list, func(a, b part) int { return cmp.Compare(a.at, b.at) })
		end := uint64(base)
		for _, p := range list {
			assert.True(t, p.at >= end && p.at%64 == 0, "%s, %d points: %s at %d, where the one before ends at %d", algorithm, job.N, p.name, p.at, end)
			end = p.at + uint64(p.bytes)
		}
		assert.LessOrEqual(t, end, base+uint64(c.size), "%s, %d points", algorithm, job.N)
	}
	for _, n := range []int{1, 64, 65, 1000, 1 << 20} {
		mean := denseJob(n, 3, 2, [3]int{8, 4, 2}, backend.ReduceMean)
		cells := mean.Keys()
		check("atomic", mean, func(l map[string]voxelLaunch) []part {
			p := l["voxel_atomic_finish"].params.(*ptx.VoxelAtomicSumParams).Table
			return []part{{"records", p.Records, 4 * cells * 12}, {"points in", p.PointsIn, 4 * n}, {"cells", p.Cells, 4 * min(n, cells)}}
		})
		tiles := (n + groupTile - 1) / groupTile
		partitioned := func(l map[string]voxelLaunch) []part {
			p := l["voxel_partition_points"].params.(*ptx.VoxelPartitionParams)
			return []part{{"dealt", p.Partitioned, 4 * groupTile * tiles}, {"runs", p.Runs, 4 * ptx.Buckets * tiles}}
		}
		check("bucket", mean, func(l map[string]voxelLaunch) []part {
			p := l["voxel_bucket"].params.(*ptx.VoxelBucketParams)
			return append(partitioned(l), part{"order", p.Order, 4 * n}, part{"list", p.List, 2 * n}, part{"pieces", p.LargePieces.Pieces, largeBytes(n, 3)})
		})
		check("group", mean, func(l map[string]voxelLaunch) []part {
			p := l["voxel_cells"].params.(*ptx.VoxelCellsParams)
			return append(partitioned(l), part{"singles", p.Lists.Singles, 8 * n}, part{"order", p.Lists.Order, 4 * n}, part{"voxels", p.Lists.Voxels, 16 * min(n/2, cells)},
				part{"pieces", p.LargePieces.Pieces, largeBytes(n, 3)})
		})
		check("count", denseJob(n, 0, 2, [3]int{8, 4, 2}, backend.ReduceCount), func(l map[string]voxelLaunch) []part {
			p, tiles := l["voxel_count"].params.(*ptx.VoxelCountParams), (n+countTile-1)/countTile
			return []part{{"dealt", p.Partitioned, 2 * countTile * tiles}, {"runs", p.Runs, 4 * ptx.Buckets * tiles}}
		})
		hard := voxelJob(n)
		hard.PointVoxel = hard.Coords
		majority := denseJob(n, 0, 2, [3]int{8, 4, 2}, backend.ReduceMajority)
		majority.Labels = hard.Coords
		for _, job := range []*backend.VoxelizeJob{hard, majority} {
			check("sort", job, func(l map[string]voxelLaunch) []part {
				p, q := l["voxel_sort_pass"].params.(*ptx.VoxelSortPassParams), l["voxel_number"].params.(*ptx.VoxelNumberParams)
				fill, bin := l["voxel_fill"].params.(*ptx.VoxelFillParams), l["voxel_histogram"].params.(*ptx.VoxelHistogramParams)
				lookback := 8 * int(l["voxel_sort_pass"].blocks) * ptx.SortDigits
				list := []part{{"keys", p.Keys, 8 * n}, {"sorted keys", p.SortedKeys, 8 * n}, {"sorted order", p.SortedOrder, 4 * n}, {"start", q.Start, 4 * (min(n, cells) + 1)},
					{"table", fill.Table, int(fill.TableBytes) + lookback}}
				assert.Equal(t, max(p.Lookback, p.NextLookback), fill.Table+fill.TableBytes, "the second half of looks is cleared by the first pass")
				if job == majority {
					return append(list, part{"cell keys", bin.CellKeys, 8 * n}, part{"order", p.Order, 4 * n})
				}
				return append(list, part{"numbers", q.Numbers, 4 * min(n, cells)}, part{"rows", q.Rows.Rows, 8 * (job.B + 1)}, part{"voxels of points", q.VoxelAt, 4 * n})
			})
		}
	}
	c := voxelChain{base: cudadrv.DevicePtr(base)}
	assert.Equal(t, []uint64{base, base + 256, base + 256, base + 768}, []uint64{c.part(1), c.part(0), c.part(257), c.part(1)})
}
