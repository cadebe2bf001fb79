package cuda

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
)

// The most that poses.cuh takes of a row, and has a warp copy; measured for RATIONALE, "Why have short rows of poses a kernel of their own?".
const (
	mostPose  = 124      // bytes: a multiple of 128 would have all lanes in one bank of shared memory
	roomBytes = 6144     // for 32 targets of up to roomyPose bytes
	roomyPose = 64       // and twice as many for wider ones
	mostRoom  = 48 << 10 // of a block

	poseBlocks = 8            // blocks of two warps that a multiprocessor holds
	mostNarrow = 5 * 4 * warp // targets for each multiprocessor, of one kind: blocks of four warps
	mostCopied = 4            // samples that such a target moves on: all are copied to shared memory
)

// resamplePoses makes short rows without gaps, of runs of kinds, a row by one lane (poses.cuh): 256 x 500 onto 250 x 22 with a quaternion took 14.9 us by
// resample_channels, and takes 8.1. Few narrow rows of one kind, too: 256 x 500 onto 250 x 3 3.4 by fuse_odd, and 3.0.
var resamplePoses = &variant{
	name:  "resample_poses",
	takes: perStream(notPoses),
	prefers: func(b *gpu, j *backend.FuseJob) string {
		switch _, one := uniform(first(j).Channels); {
		case !one:
			return ""
		case j.D > ptx.MostOwn:
			return fmt.Sprintf("one kind, and rows of more than %d features", ptx.MostOwn)
		case ready(j):
			return "one kind, and inputs that are ready"
		case j.Rows() > b.sms*mostNarrow || pace(first(j)) > mostCopied:
			return "one kind, and many rows, or samples far apart"
		}
		return ""
	},
	// Tile is the targets of a block: 32, which all warps then have, or as many as threads.
	free: tuned.Freedom{Tile: []int{warp, 2 * warp, 4 * warp}},
	model: func(b *gpu, j *backend.FuseJob) tuned.Choice {
		c := tuned.Choice{Tile: b.poseTile(j), Check: checkShare}
		c.Check = oneTurn(max(c.Tile, 2*warp), j.Clock)
		return c
	},
	cut: func(b *gpu, j *backend.FuseJob, c tuned.Choice) []shape {
		r, s := first(j), shape{threads: c.Tile, tile: c.Tile, chunks: 1}
		room := roomOf(r).bytes
		for s.tile > warp && s.tile/warp*room > mostRoom {
			s.tile /= 2
		}
		if s.threads = s.tile; s.tile == warp && precise(posePieces(r)) && len(posePieces(r)) > 1 {
			s.threads = 2 * warp // a second warp for the same targets, where some piece takes long
		}
		s.shared = s.tile / warp * room
		return []shape{b.grid(r, c.Check, s)}
	},
	params: func(p *plan, j *backend.FuseJob, s []shape) (parameters, error) { return p.poses(j, s[0]), nil },
}

// poseTile is how many targets a block has by the device's size: those of one warp where a second one helps it and the device holds all such blocks at
// once; else four warps have their own, and fewer where blocks would be fewer than two for each multiprocessor, or than one where inputs are ready.
func (b *gpu) poseTile(j *backend.FuseJob) int {
	list := posePieces(first(j))
	if !ready(j) && len(list) > 1 && precise(list) && j.Rows() <= warp*poseBlocks*b.sms {
		return warp
	}
	tile := 4 * warp
	for tile > warp && j.Rows() < tile*b.sms*min(fills(ready(j)), 2) {
		tile /= 2
	}
	return tile
}

// notPoses says why poses.cuh does not take a stream: its source, targets and outputs have no gaps, its rows are short, and a warp can copy those that
// evenly spaced targets need.
func notPoses(j *backend.ResampleJob) string {
	_, gap := j.MaxGap.Get()
	_, tolerance := j.Tolerance.Get()
	if why := irregular(j); why != "" {
		return why
	}
	row, room := j.D*j.Src.DType().Size(), poseRoom(j)
	switch {
	case gap || tolerance:
		return "a limit on gaps, or a tolerance"
	case j.Edge != backend.EdgeClamp:
		return "ends that are not held"
	case j.S < leastDirect || j.T < 2 || j.B*j.S > math.MaxInt32 || pointer(j.Src)%chunk != 0:
		return "few samples or targets, or a source that begins anywhere"
	case j.SrcStep != j.D || j.DstStep != j.D || !dense(j.Src, j.SrcBatch, j.S*j.D, j.B) || !denseOutputs(j) || j.ValidStep != 1 || j.AgeStep != 1:
		return "rows that are apart from each other"
	case row > mostPose || row <= roomyPose && room*row > roomBytes || room*row > 2*roomBytes:
		return fmt.Sprintf("rows of more than %d bytes, or too many samples between targets", mostPose)
	case posePieces(j) == nil:
		return fmt.Sprintf("kinds that it does not make, or more than %d pieces", ptx.MostPieces)
	}
	return ""
}

// posePieces are the pieces of a stream's rows, those that take longest first; nil if there is a kind that poses.cuh does not make, or too many.
func posePieces(j *backend.ResampleJob) []ptx.Piece {
	size := j.Src.DType().Size()
	var list []ptx.Piece
	for _, c := range j.Channels {
		for lo := c.Lo; lo < c.Hi; {
			n := 4
			switch {
			case weightOf(uint16(c.Interp)) < 0:
				return nil
			case c.Interp == backend.InterpAngle && c.Hi-lo >= 6:
				n = 6
			case c.Interp == backend.InterpAngle:
				n = 2
			}
			n = min(n, c.Hi-lo)
			list = append(list, ptx.Piece{Period: math.Float64bits(c.Period), At: uint32(lo * size), Kind: uint16(c.Interp), N: uint16(n)})
			lo += n
		}
	}
	if len(list) > ptx.MostPieces {
		return nil
	}
	slices.SortStableFunc(list, func(a, b ptx.Piece) int { return weightOf(b.Kind) - weightOf(a.Kind) })
	return list
}

// poseRoom is how many samples the targets of a warp need, three tenths more than of evenly spaced ones, with those around them and where a row ends and
// another begins.
func poseRoom(j *backend.ResampleJob) int {
	return int(1.3*(warp-1)*pace(j)) + 6 + 4*((warp-1)/j.T+1)
}

// weightOf orders the kinds by what a piece of them takes; those that poses.cuh does not make have none.
func weightOf(kind uint16) int {
	switch kind {
	case ptx.KindSlerp:
		return 2
	case ptx.KindAngle:
		return 1
	case ptx.KindLinear, ptx.KindPrevious, ptx.KindNext, ptx.KindNearest:
		return 0
	}
	return -1
}

// precise reports whether some piece has its weights in float64.
func precise(list []ptx.Piece) bool { return weightOf(list[0].Kind) > 0 }

// room is the shared memory of 32 targets.
type room struct {
	rows       int // samples that are copied
	out, bytes int // where the targets' rows begin; of all
}

func roomOf(j *backend.ResampleJob) room {
	row := j.D * j.Src.DType().Size()
	r := room{rows: poseRoom(j)}
	r.out = (max(r.rows*row+2*(chunk-1), 2*warp*row) + chunk - 1) &^ (chunk - 1)
	r.bytes = r.out + warp*row
	return r
}

func (p *plan) poses(j *backend.FuseJob, s shape) *ptx.Poses {
	r := first(j)
	magic, _ := divider(r.T, r.Rows())
	row, samples, space, list := r.D*r.Src.DType().Size(), r.B*r.S, roomOf(r), posePieces(r)
	f := plainFlags(r, s)
	f.Kind, f.Masked = 0, false
	out := &ptx.Poses{
		Src: address(r.Src), Times: address(r.SrcTimes), Targets: address(j.Targets.Times), Dst: address(j.Dst), Valid: address(j.Valid), Age: address(j.Age),
		Fault: p.Cell.At, FaultFlag: p.Cell.Flag, Start: startBits(j.Targets, j.Clock), Rate: j.Targets.Rate, TimesBatch: uint32(r.TimesBatch),
		TargetBatch: uint32(r.TargetBatch), Total: uint32(r.Rows()), Stamps: uint32(r.Timestamps()), Share: plainShare(r, s.blocks), S: uint32(r.S), T: uint32(r.T),
		TMagic: magic, Pace: pace(r), RowsAStamp: 1 / float32(r.S), Flags: f.Word() | ptx.PosesFlags{Precise: precise(list)}.Word(), Tile: uint32(s.tile),
		Row: uint32(row), Room: uint32(space.rows), RoomBytes: uint32(space.bytes), OutAt: uint32(space.out), Samples: uint32(samples),
		Safe: uint32(max(0, samples-(chunk+row-2)/row)), Pieces: uint32(len(list)),
	}
	copy(out.PieceOf[:], list)
	return out
}
