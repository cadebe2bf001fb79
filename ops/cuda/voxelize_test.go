package cuda

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

func voxelJob(n int) *ops.VoxelizeJob {
	points := tensor.Must(tensor.New(tensor.F32, 1, 3))
	many := tensor.Must(points.Expand(n, 3))
	return &ops.VoxelizeJob{
		VoxelizeArgs: ops.VoxelizeArgs{Points: many, Coords: tensor.Must(tensor.New(tensor.I32, 5, 4))},
		Mode:         ops.HardVoxels, Reduce: ops.ReduceCount, Cells: [3]int{8, 4, 2}, N: n, B: 2, P: 3, V: 5,
	}
}

func TestVoxelParametersHaveTheEntrysSize(t *testing.T) {
	c := voxelChain{at: &voxelMemory{}, p: &voxelPlan{job: voxelJob(10), cell: &faultCell{}}}
	for _, name := range []string{"voxel_fill", "voxel_bin", "voxel_pass", "voxel_number", "voxel_rows",
		"voxel_reduce", "voxel_grid", "voxel_crowded", "voxel_cut", "voxel_choose", "voxel_keep", "voxel_inverse", "voxel_deal", "voxel_tally",
		"voxel_deal_points", "voxel_group", "voxel_cells", "voxel_bucket", "voxel_write_f32", "voxel_write_f64", "voxel_best", "voxel_add", "voxel_finish"} {
		_, entry, ok := ptx.Lookup(name)
		require.True(t, ok, name)
		require.Len(t, entry.Params, 1, name)
		assert.Equal(t, entry.Params[0].Size, len(c.params(0)), name)
	}
}

// Chunks cover the points, are whole tiles, and are not many more than the device has room for.
func TestChunksCoverThePoints(t *testing.T) {
	for _, n := range []int{0, 1, 2047, 2048, 2049, 1 << 20, 20_000_000, 1<<31 - 1} {
		m := layVoxels(voxelJob(n), 132, bySort)
		what := fmt.Sprintf("%d points: %+v", n, m)
		assert.GreaterOrEqual(t, m.chunk*m.blocks, n, what)
		assert.Less(t, m.chunk*max(m.blocks-1, 0), max(n, 1), what)
		assert.Zero(t, m.chunk%binTile, what)
		assert.GreaterOrEqual(t, m.tiles*m.each*sortThreads, n, what)
		assert.LessOrEqual(t, m.each, mostSort, what)
		assert.LessOrEqual(t, m.blocks, 8*132, what)
	}
}

// Large counts are dealt out, on devices that have the shared memory for it.
func TestLargeCountsAreDealtOut(t *testing.T) {
	counts := func(n int) *ops.VoxelizeJob {
		job := voxelJob(n)
		job.Mode, job.Cells = ops.DenseVoxels, [3]int{256, 256, 256} // of two rows
		return job
	}
	full, small := &backend{sms: 132, shared: 227 << 10}, &backend{sms: 46, shared: 99 << 10}
	const enough = 132 * dealPoints
	assert.Equal(t, byTally, full.way(counts(enough)))
	assert.Equal(t, byWriting, full.way(counts(enough-1)))
	assert.Equal(t, byWriting, small.way(counts(enough)))
	larger := counts(enough)
	larger.Cells[2]++
	assert.Equal(t, byWriting, full.way(larger), "%d cells", larger.Keys())
	m := layVoxels(counts(enough), 132, byTally)
	assert.Equal(t, dealTile, m.chunk)
	assert.Equal(t, enough/dealTile, m.blocks)
	assert.GreaterOrEqual(t, int(m.table-m.keys[0]), 2*enough)
	assert.GreaterOrEqual(t, m.size-int(m.table), 4*buckets*m.blocks)
	assert.Less(t, m.size, 2*enough+4*buckets*m.blocks+1024, "two bytes a point, and a word for each bucket of a tile")
	assert.Equal(t, m.blocks+1, layVoxels(counts(enough+1), 132, byTally).blocks)
}

// Few points and features are added by atomics, on a table that is not too large.
func TestWhatIsAdded(t *testing.T) {
	b := &backend{sms: 132, shared: 227 << 10}
	job := func(n, f, cells int, reduce ops.VoxelReduce) *ops.VoxelizeJob {
		job := voxelJob(n)
		job.Mode, job.Reduce, job.B, job.F, job.Cells = ops.DenseVoxels, reduce, 1, f, [3]int{cells, 1, 1}
		return job
	}
	const most = 132 * addValues
	assert.Equal(t, byAdding, b.way(job(most/4, 3, 100, ops.ReduceMean)))
	assert.NotEqual(t, byAdding, b.way(job(most/4+1, 3, 100, ops.ReduceMean)))
	assert.Equal(t, byAdding, b.way(job(most/3, 3, 100, ops.ReduceMax)))
	assert.NotEqual(t, byAdding, b.way(job(most/3+1, 3, 100, ops.ReduceMin)))
	for reduce, words := range map[ops.VoxelReduce]int{ops.ReduceMean: 12, ops.ReduceSum: 12, ops.ReduceMax: 4, ops.ReduceMin: 4} {
		assert.Equal(t, words, recordWords(job(1, 3, 1, reduce)), reduce)
		assert.Equal(t, byAdding, b.way(job(100, 3, addTable/words, reduce)), reduce)
		assert.NotEqual(t, byAdding, b.way(job(100, 3, addTable/words+1, reduce)), reduce)
	}
	assert.Equal(t, byAdding, b.way(job(100, 12, 100, ops.ReduceSum)))
	assert.NotEqual(t, byAdding, b.way(job(100, 13, 100, ops.ReduceSum)))
	assert.Equal(t, byAdding, b.way(job(100, 24, 100, ops.ReduceMax)))
	assert.NotEqual(t, byAdding, b.way(job(100, 25, 100, ops.ReduceMax)))
	beside := job(1, 0, 100, ops.ReduceCount)
	assert.Equal(t, byWriting, b.way(beside))
	beside.Empty = -1
	assert.Equal(t, byAdding, b.way(beside), "counts beside an empty value")
	assert.Equal(t, bySort, b.way(job(9, 3, 100, ops.ReduceMajority)))
}

// Sums, means and extremes are made of points dealt out, unless blocks or their memory would not do.
func TestWhatIsGrouped(t *testing.T) {
	full, small := &backend{sms: 132, shared: 227 << 10, gather: true}, &backend{sms: 46, shared: 64 << 10, gather: true}
	job := func(n int, cells [3]int, reduce ops.VoxelReduce) *ops.VoxelizeJob {
		job := voxelJob(n)
		job.Mode, job.Reduce, job.Cells = ops.DenseVoxels, reduce, cells
		return job
	}
	room := [3]int{128, 128, 128}
	assert.Equal(t, byGroup, full.way(job(1, room, ops.ReduceMean)))
	assert.Equal(t, byGroup, full.way(job(1<<31-1, room, ops.ReduceMax)))
	few := 2 * 128 * 128 * 128 / 4 // of two rows
	assert.Equal(t, byGroup, full.way(job(few-1, room, ops.ReduceMean)), "a cell in four has a point")
	assert.Equal(t, byBucket, full.way(job(few, room, ops.ReduceMean)))
	assert.Equal(t, byBucket, full.way(job(bucketPoints, room, ops.ReduceMin)))
	assert.Equal(t, byGroup, full.way(job(bucketPoints+1, room, ops.ReduceMin)), "more points than blocks keep")
	assert.Equal(t, byBucket, full.way(job(4*2*32*32*32, [3]int{32, 32, 32}, ops.ReduceSum)))
	assert.Equal(t, byGroup, full.way(job(4*2*32*32*32+1, [3]int{32, 32, 32}, ops.ReduceSum)), "four points a cell")
	assert.Equal(t, bySort, small.way(job(few, room, ops.ReduceMean)))
	assert.Equal(t, bySort, full.way(job(9, room, ops.ReduceMajority)), "labels are sorted")
	assert.Equal(t, byWriting, full.way(job(9, room, ops.ReduceCount)), "counts need no points together")
	assert.Equal(t, noPoints, full.way(job(0, room, ops.ReduceSum)))
	assert.Equal(t, bySort, small.way(job(9, room, ops.ReduceSum)))
	assert.Equal(t, bySort, full.way(job(9, [3]int{512, 512, 65}, ops.ReduceSum)), "a cell's number in its bucket has 16 bits")
	assert.Equal(t, bySort, full.way(job(sortPoints+1, [3]int{16, 16, 15}, ops.ReduceSum)), "many points in few buckets")
	assert.Equal(t, byGroup, full.way(job(sortPoints, [3]int{16, 16, 16}, ops.ReduceSum)))
	most := voxelJob(bucketPoints)
	most.Cells = [3]int{bucketPoints, 2, 1} // of two rows
	assert.LessOrEqual(t, 4*(cellsOfBucket(most, groupBits)+32)+6*bucketHeld, groupShared+6*bucketHeld)
	hard := job(9, room, ops.ReduceMean)
	hard.Mode = ops.HardVoxels
	assert.Equal(t, bySort, full.way(hard))
}

// Parts of the scratch memory are aligned, in it, and apart.
func TestScratchPartsLieApart(t *testing.T) {
	for _, n := range []int{1, 64, 65, 1000, 1 << 20} {
		job := voxelJob(n)
		job.Labels = tensor.Must(tensor.New(tensor.I32, 1))
		m := layVoxels(job, 132, bySort)
		voxels := min(n, job.Keys())
		parts := []struct {
			at    cudadrv.DevicePtr
			bytes int
		}{{m.state, 8 * stateWords}, {m.rows, 8 * (job.B + 1)}, {m.keys[0], 8 * n}, {m.keys[1], 8 * n}, {m.order[0], 4 * n}, {m.order[1], 4 * n},
			{m.start, 4 * (voxels + 1)}, {m.table, m.cleared + 8*m.tiles*voxelDigits}, {m.cellKeys, 8 * n}, {m.numbers, 4 * voxels}}
		for i, p := range parts {
			assert.Zero(t, p.at%256)
			assert.LessOrEqual(t, int(p.at)+p.bytes, m.size)
			assert.True(t, i == 0 || p.at != 0, "part %d is not laid", i)
			for k, o := range parts[:i] {
				assert.True(t, int(p.at) >= int(o.at)+o.bytes || int(o.at) >= int(p.at)+p.bytes, "%d points: parts %d and %d meet", n, i, k)
			}
		}
		grouped := voxelJob(n)
		grouped.Mode, grouped.Reduce, grouped.F = ops.DenseVoxels, ops.ReduceMean, 3
		for _, way := range []voxelWay{byGroup, byBucket} {
			g := layVoxels(grouped, 132, way)
			type part struct {
				at    cudadrv.DevicePtr
				bytes int
			}
			parts := []part{{g.crowded, crowdedBytes(n, 3)}, {g.keys[0], 4 * groupTile * g.blocks}, {g.keys[1], 8 * n}, {g.table, 4 * buckets * g.blocks},
				{g.order[0], 4 * n}, {g.cellKeys, 16 * min(n/2, grouped.Keys())}}
			if way == byBucket {
				parts[2].bytes, parts = 2*n, parts[:5]
			}
			end := cudadrv.DevicePtr(8 * stateWords)
			for _, p := range parts {
				assert.True(t, p.at >= end && p.at%256 == 0, "%d points: a part at %d, where the one before ends at %d", n, p.at, end)
				end = p.at + cudadrv.DevicePtr(p.bytes)
			}
			assert.LessOrEqual(t, int(end), g.size)
		}
		m.move(1 << 20)
		assert.Equal(t, cudadrv.DevicePtr(1<<20), m.state)
		assert.EqualValues(t, parts[1].at+1<<20, m.rows)
	}
}

// What the kernels and the plans both count by is one number.
func TestVoxelConstantsAreTheKernels(t *testing.T) {
	for _, c := range []struct {
		file, name string
		want       int
	}{{"voxel_values.cuh", "few", voxelFew}, {"voxel_values.cuh", "piece_points", voxelPiece}, {"voxel.cuh", "buckets", buckets},
		{"voxel_count.cu", "part", tallyPart}, {"voxel_count.cu", "tally_threads", 1024}, {"voxel_deal.cuh", "deal_threads", buckets}, {"voxel_count.cu", "each", dealTile / buckets},
		{"voxel_count.cu", "dealt_bits", tallyBits}, {"voxel_places.cuh", "dealt_bits", groupBits}, {"voxel_count.cu", "deal_bytes", dealShared}, {"voxel_places.cuh", "each", groupTile / buckets}, {"voxel_group.cu", "part", groupPart},
		{"voxel_group.cu", "deal_bytes", dealPointsShared}, {"voxel_group.cu", "group_threads", groupThreads}, {"voxel_group.cu", "cells_threads", 256},
		{"voxel_bucket.cu", "bucket_threads", bucketThreads}, {"voxel_bucket.cu", "held", bucketHeld},
		{"voxel_group.cu", "at_once", groupAtOnce}, {"voxel_sort.cu", "sort_bytes", sortShared}, {"common.cuh", "warp_size", (tallyShared - 4*tallyPart) / 4},
		{"voxel.cuh", "digits", voxelDigits}, {"voxel.cuh", "most_passes", mostPasses}, {"voxel.cuh", "most_launches", mostTickets},
		{"voxel_sort.cu", "sort_threads", sortThreads}, {"voxel_sort.cu", "most", mostSort}, {"voxel_sort.cu", "most_heads", mostHeads}, {"voxel_bin.cu", "bin_threads", 256},
		{"voxel_write.cu", "write_threads", writeThreads}, {"voxel_add.cu", "add_threads", addThreads}, {"voxel_crowded.cuh", "reduce_threads", 256}} {
		text, err := os.ReadFile("../../ptx/" + c.file)
		require.NoError(t, err)
		found := regexp.MustCompile(`\b` + c.name + ` = (\d+)`).FindSubmatch(text)
		require.NotNil(t, found, "%s in %s", c.name, c.file)
		got, err := strconv.Atoi(string(found[1]))
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%s in %s", c.name, c.file)
	}
}
