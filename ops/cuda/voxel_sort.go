package cuda

import (
	"math/bits"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// voxelSort handles all jobs that need an order: hard and sparse voxels, majorities, and dense grids that no other algorithm supports,
// such as float64.
var voxelSort = voxelVariant{name: "sort", prefers: always,
	supports: func(_ *gpu, job *backend.VoxelizeJob) string {
		if job.Mode == backend.VoxelDense && job.Reduce == backend.ReduceOccupancy {
			return "occupancy needs no order"
		}
		return ""
	},
	layout: func(c *voxelChain) { (&voxelSorting{voxelChain: c}).layout() },
}

// voxelSorting is the chain for a sort, with the addresses of keys and order.
type voxelSorting struct {
	*voxelChain
	keys, order [2]uint64 // the points' keys and order: input and output buffers, swapped by each pass
	cellKeys    uint64
	side        int // index of the buffers that hold the sorted points so far
	passes      int // passes so far

	table, heads, lookback       uint64 // see layoutTable
	tableBytes                   int
	itemsPerThread, tiles        int // points per thread, and blocks, in voxel_sort_pass
	placesPerThread, placesTiles int // the same in voxel_number
}

// The table holds, in this order: the number of keys with each digit, for each pass; the counters of started tiles (one for each pass,
// one for each numbering) and of finished blocks; a word for each tile in each numbering; and a word for each tile and digit, twice,
// because each pass clears the half that the next one needs.
const (
	numberTickets = ptx.MaxPasses
	doneTicket    = numberTickets + 2
	tickets       = (doneTicket + 4) &^ 3
)

func (s *voxelSorting) layoutTable() {
	// A thread gets fewer points if there would be less than one block per multiprocessor. Fewer blocks have fewer predecessors to look
	// back at.
	split := func(blocks, most int) (itemsPerThread, tiles int) {
		n := s.job.N
		itemsPerThread = min(max((n+blocks*ptx.SortThreads-1)/(blocks*ptx.SortThreads), 1), most)
		return itemsPerThread, max((n+itemsPerThread*ptx.SortThreads-1)/(itemsPerThread*ptx.SortThreads), 1)
	}
	s.itemsPerThread, s.tiles = split(s.sms, ptx.MaxPassKeys)
	s.placesPerThread, s.placesTiles = split(2*s.sms, ptx.MaxNumberPlaces)
	books, side := 4*(ptx.MaxPasses*ptx.SortDigits+tickets), 8*s.tiles*ptx.SortDigits
	s.tableBytes = books + 2*8*s.placesTiles + side // without the second half, which the first pass clears
	s.table = s.part(s.tableBytes + side)
	s.heads = s.table + uint64(books)
	s.lookback = s.heads + uint64(2*8*s.placesTiles)
}

func (s *voxelSorting) totals(pass int) uint64 { return s.table + uint64(4*pass*ptx.SortDigits) }

func (s *voxelSorting) ticket(i int) uint64 { return s.totals(ptx.MaxPasses) + uint64(4*i) }

func (s *voxelSorting) layout() {
	job, n := s.job, s.job.N
	voxels := min(n, job.Keys())
	s.keys = [2]uint64{s.part(8 * n), s.part(8 * n)}
	s.order = [2]uint64{s.part(4 * n), s.part(4 * n)}
	s.layoutTable()
	if job.Labels != nil {
		s.cellKeys = s.part(8 * n)
	}
	opens := voxelFillArgs{out: job.Grid, table: s.table, tableBytes: s.tableBytes}
	if job.Mode == backend.VoxelDense {
		opens.value = emptyWord(job)
	} else {
		opens.out, opens.value = job.PointVoxel, 1<<32-1
	}
	s.fill("voxel_fill", opens)
	s.sort()
	list := s.number(voxels)
	if n > 0 {
		s.write(list, voxels)
	}
}

// sort computes the points' keys and groups the points of each cell.
func (s *voxelSorting) sort() {
	job, chunk := s.job, s.chunk()
	if job.N == 0 {
		return
	}
	keyBits := bits.Len64(uint64(job.Keys()))
	s.add("voxel_histogram", (job.N+chunk-1)/chunk, ptx.HistogramThreads, &ptx.VoxelHistogramParams{
		Cloud: s.cloud(chunk), Grid: s.grid(), Keys: s.keys[0], CellKeys: s.cellKeys, Labels: uint64(pointer(job.Labels)), Totals: s.table, State: s.state,
		Passes: uint32((keyBits + 7) / 8),
	})
	if job.Labels != nil {
		s.pass(32, 0)
	}
	s.pass(keyBits, s.cellKeys)
}

// pass sorts by the given number of low key bits, 8 at a time. If cellKeys is not 0, the first pass reads these keys through the
// current order.
func (s *voxelSorting) pass(bits int, cellKeys uint64) {
	for shift := 0; shift < bits; shift += 8 {
		half := uint64(8 * s.tiles * ptx.SortDigits)
		p := &ptx.VoxelSortPassParams{
			Keys: s.keys[s.side], CellKeys: cellKeys, SortedKeys: s.keys[1-s.side], SortedOrder: s.order[1-s.side],
			Totals: s.totals(s.passes), Ticket: s.ticket(s.passes),
			Lookback: s.lookback + uint64(s.passes%2)*half, NextLookback: s.lookback + uint64(1-s.passes%2)*half,
			N: uint32(s.job.N), ItemsPerThread: uint32(s.itemsPerThread), Shift: uint32(shift),
		}
		if s.passes > 0 {
			p.Order = s.order[s.side]
		}
		s.add("voxel_sort_pass", s.tiles, ptx.SortThreads, p).shared = ptx.SortSharedBytes
		s.side, s.passes, cellKeys = 1-s.side, s.passes+1, 0
	}
}

// number adds the launches that number the voxels and find where batch rows begin. It returns the list of voxels.
func (s *voxelSorting) number(voxels int) ptx.VoxelList {
	job, axes := s.job, s.job.Axes()
	list := ptx.VoxelList{
		Values: s.values(0), Keys: s.keys[s.side], Order: s.order[s.side], Start: s.part(4 * (voxels + 1)), State: s.state,
		Coords: uint64(pointer(job.Coords)), Counts: uint64(pointer(job.Counts)), Inverse: uint64(pointer(job.PointVoxel)),
		RowVoxels: uint32(job.RowVoxels), V: uint32(job.V), P: uint32(job.P), N1: uint32(job.Cells[axes[1]]), N2: uint32(job.Cells[axes[2]]),
	}
	if job.Batched {
		list.Batched = 1
	}
	if job.PointVoxel != nil {
		list.VoxelAt = s.order[1-s.side] // the sort no longer needs this buffer
	}
	p := ptx.VoxelNumberParams{
		Keys: list.Keys, Order: list.Order, AllKeys: uint64(job.Keys()), State: s.state, N: uint32(job.N), ItemsPerThread: uint32(s.placesPerThread),
		Start: list.Start, VoxelAt: list.VoxelAt,
	}
	if job.Mode == backend.VoxelHard {
		list.Numbers = s.part(4 * voxels)
		p.Marks, p.Numbers = s.keys[1-s.side], list.Numbers
	}
	launch := func(which int) {
		q := p
		q.SecondPass, q.Heads, q.Ticket = uint32(which), s.heads+uint64(which*8*s.placesTiles), s.ticket(numberTickets+which)
		s.add("voxel_number", s.placesTiles, ptx.SortThreads, &q)
	}
	if job.Mode == backend.VoxelHard && job.N > 0 {
		launch(0)
	}
	if job.Mode != backend.VoxelDense {
		list.Rows = s.part(8 * (job.B + 1))
		p.Rows = ptx.VoxelRows{
			Rows: list.Rows, Splits: uint64(pointer(job.RowSplits)), Offsets: uint64(pointer(job.Offsets)), Cells: uint64(job.CellsARow()), Done: s.ticket(doneTicket),
			B: uint32(job.B), V: uint32(job.V), RowVoxels: uint32(job.RowVoxels),
		}
	}
	if job.Mode == backend.VoxelHard {
		launch(1)
	} else {
		launch(0)
	}
	return list
}

// write adds the launches that write the voxels' values.
func (s *voxelSorting) write(list ptx.VoxelList, voxels int) {
	const warps = ptx.ReduceThreads / ptx.WarpSize
	double := s.job.Double()
	if s.job.Mode == backend.VoxelHard {
		kernel := "voxel_hard"
		if double {
			kernel = "voxel_hard_f64"
		}
		// One warp for each voxel that may be kept, and one for each 32 that must be examined.
		itemsPerThread := max(min(voxels, s.job.V), (voxels+ptx.WarpSize-1)/ptx.WarpSize)
		s.add(kernel, s.walk(itemsPerThread, warps), ptx.ReduceThreads, &list)
		return
	}
	if double {
		s.add("voxel_reduce_f64", s.walk(voxels*lanesOf(s.job), ptx.ReduceThreads), ptx.ReduceThreads, &list)
		return
	}
	largeList := s.largeList()
	// As many blocks as run at once, because a warp continues with the rest of its queue.
	s.add("voxel_reduce", min(s.walk(voxels*lanesOf(s.job), 3*ptx.ReduceThreads), 2*s.sms), ptx.ReduceThreads, &ptx.VoxelReduceParams{
		List: list, LargePieces: largeList, Labels: uint64(pointer(s.job.Labels)),
	})
	s.reduceLarge(list.Values, list.Order, largeList)
}
