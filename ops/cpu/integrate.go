package cpu

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/robocache/robocache/ops/backend"
)

const (
	edge       = backend.BlockEdge
	blockRange = 1 << (backend.BlockBits - 1) // a block's coordinates are from -blockRange to blockRange-1
	noBlock    = math.MaxUint64               // a place of the hash table without a key
	blockPiece = 8                            // blocks in a piece of work
)

// integratePlan is an Integrate bound to host memory.
//
// A hash table has the blocks of the volume and the new ones: their keys, and for each the first image that shows it, from 1 on; 0 for
// a block that is in the volume already. A key has the coordinates x, y and z from the highest bits down.
type integratePlan struct {
	steppedPlan
	*backend.IntegrateJob
	depth                           depthImages
	intrinsics, poses               []float32
	distance, weight, color, metric []float32 // metric [B,H,W] has the valid depths in metres, and NaN for others
	images                          []uint8
	blocks                          []int32
	state, counts                   []int64
	cameras                         []camera
	keys                            []uint64
	first                           []uint32
	begin                           []uint32 // the first image of each block of the volume
	fresh                           []uint32 // places of new blocks
	found                           atomic.Int64
	room                            int64
	shift                           int                               // of a hash, to the bits of an index
	memo                            [][backend.MaxRaySteps + 1]uint64 // each worker's last key for each sample of a ray
}

// camera is an image's camera.
type camera struct {
	fx, fy, cx, cy float32
	m              *[16]float32
}

// Integrate plans the fusion of depth images into a TSDF.
func (b *Backend) Integrate(job *backend.IntegrateJob) (backend.Plan, error) {
	p := &integratePlan{steppedPlan: steppedPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}, IntegrateJob: job}
	var errs []error
	p.depth = depthOf(&job.DepthImages, job.Depth, &errs)
	p.intrinsics, p.poses = elementsOf[float32](job.Intrinsics, &errs), elementsOf[float32](job.Poses, &errs)
	p.distance, p.weight = elementsOf[float32](job.Distance, &errs), elementsOf[float32](job.Weight, &errs)
	p.color = elementsOf[float32](job.Color, &errs)
	p.images, p.blocks = elementsOf[uint8](job.Images, &errs), elementsOf[int32](job.Keys, &errs)
	p.state, p.counts = elementsOf[int64](job.State, &errs), elementsOf[int64](job.Counts, &errs)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	p.metric, p.cameras = make([]float32, job.B*job.H*job.W), make([]camera, job.B)
	p.keys, p.first = make([]uint64, 1<<job.TableBits()), make([]uint32, 1<<job.TableBits())
	p.shift = 64 - job.TableBits()
	p.begin, p.fresh = make([]uint32, job.M), make([]uint32, job.M)
	p.memo = make([][backend.MaxRaySteps + 1]uint64, b.workers)
	p.checks, p.work = task{pieces: job.B * job.H, do: p.row}, task{pieces: job.M, do: p.piece}
	p.by = p.all
	return p, nil
}

func (p *integratePlan) all(do func(*task)) error {
	clear(p.counts)
	fill(p.keys, noBlock)
	fill(p.first, math.MaxUint32)
	used := min(max(int(p.state[backend.VolumeBlocks]), 0), p.M)
	p.found.Store(0)
	p.room = int64(p.M - used)
	for slot := range used {
		at, _ := p.place(keyOf([3]int32(p.blocks[3*slot:])))
		p.first[at] = 0
		p.begin[slot] = 0
	}
	for n := range p.cameras {
		k := p.intrinsics[n*p.IntrinsicsStep:]
		p.cameras[n] = camera{k[0], k[1], k[2], k[3], (*[16]float32)(p.poses[n*p.PoseStep:])}
	}
	do(&p.checks)
	if p.state[backend.VolumeRefused] > 0 || p.found.Load() > p.room {
		p.state[backend.VolumeRefused] += int64(p.B)
		return nil
	}
	fresh := p.fresh[:p.found.Load()]
	slices.SortFunc(fresh, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(p.first[a], p.first[b]), cmp.Compare(p.keys[a], p.keys[b]))
	})
	for _, place := range fresh {
		key := p.keys[place]
		for a := range 3 {
			p.blocks[3*used+a] = int32(key>>(backend.BlockBits*(2-a))&(2*blockRange-1)) - blockRange
		}
		p.begin[used] = p.first[place]
		if p.counts != nil {
			p.counts[backend.CountWords*int(p.first[place]-1)+backend.CountBlocks]++
		}
		used++
	}
	p.state[backend.VolumeBlocks] = int64(used)
	p.state[backend.VolumeIntegrated] += int64(p.B)
	p.work.pieces = (used + blockPiece - 1) / blockPiece
	do(&p.work)
	return nil
}

func keyOf(block [3]int32) (key uint64) {
	for _, x := range block {
		key = key<<backend.BlockBits | uint64(x+blockRange)&(2*blockRange-1)
	}
	return key
}

// place returns a key's place in the hash table, and adds it if it is new. It returns -1 if there are more new keys than the volume has
// room for.
func (p *integratePlan) place(key uint64) (at int, added bool) {
	for at = int(key * 0x9e3779b97f4a7c15 >> p.shift); ; at = (at + 1) & (len(p.keys) - 1) {
		was := atomic.LoadUint64(&p.keys[at])
		if was == noBlock {
			if p.found.Load() > p.room {
				return -1, false
			}
			if atomic.CompareAndSwapUint64(&p.keys[at], noBlock, key) {
				return at, true
			}
			was = atomic.LoadUint64(&p.keys[at])
		}
		if was == key {
			return at, false
		}
	}
}

// show records that image n shows a block.
func (p *integratePlan) show(key uint64, n int) {
	at, added := p.place(key)
	if at < 0 {
		return
	}
	if added {
		if i := p.found.Add(1) - 1; i < p.room {
			p.fresh[i] = uint32(at)
		}
	}
	for {
		was := atomic.LoadUint32(&p.first[at])
		if was <= uint32(n+1) || atomic.CompareAndSwapUint32(&p.first[at], was, uint32(n+1)) {
			return
		}
	}
}

// row measures the depths of a row of an image, and adds the blocks near its surface.
func (p *integratePlan) row(piece, worker int) {
	n, v := piece/p.H, piece%p.H
	c := &p.cameras[n]
	from := n*p.depth.image + v*p.depth.row
	memo := p.memo[worker][:p.Steps+1]
	fill(memo, noBlock)
	var found [backend.CountBlocks]int64
	ry := (float32(v) - c.cy) / c.fy
	for u := range p.W {
		z, kind := p.depth.at(from, u)
		metric := float32(math.NaN())
		if kind == backend.CountValid {
			metric = z
			rx := (float32(u) - c.cx) / c.fx
			var d [3]float32
			for a := range d {
				r := c.m[4*a:][:3]
				d[a] = float32(float32(r[0]*rx)+float32(r[1]*ry)) + r[2]
			}
			key, last := p.sample(c, &d, z, 0), p.sample(c, &d, z, p.Steps)
			if key == noBlock || last == noBlock {
				kind = backend.CountRange
			} else {
				if last != memo[p.Steps] {
					memo[p.Steps] = last
					p.show(last, n)
				}
				for i := 0; key != last; key = p.sample(c, &d, z, i) { // samples between two of one block are in that block too
					if key != memo[i] {
						memo[i] = key
						p.show(key, n)
					}
					i++
				}
			}
		}
		p.metric[piece*p.W+u] = metric
		found[kind]++
	}
	if p.counts != nil {
		for i, c := range found {
			atomic.AddInt64(&p.counts[backend.CountWords*n+i], c)
		}
	}
}

// sample returns the key of the block of a ray's sample, or noBlock if it is out of range.
func (p *integratePlan) sample(c *camera, d *[3]float32, z float32, i int) uint64 {
	t := max((z-p.Truncation)+float32(float32(i)*p.Step), 0)
	x := blockAt(float32((float32(d[0]*t) + c.m[3]) * p.PerBlock))
	y := blockAt(float32((float32(d[1]*t) + c.m[7]) * p.PerBlock))
	w := blockAt(float32((float32(d[2]*t) + c.m[11]) * p.PerBlock))
	if x|y|w >= 2*blockRange {
		return noBlock
	}
	return x<<(2*backend.BlockBits) | y<<backend.BlockBits | w
}

// blockAt returns the block of a coordinate in blocks, counted from the first, or a greater number than any if it is out of range.
func blockAt(at float32) uint64 {
	if !(at >= -blockRange && at < blockRange) {
		return noBlock
	}
	block := int32(at)
	if float32(block) > at {
		block--
	}
	return uint64(block + blockRange)
}

func (p *integratePlan) piece(piece, _ int) {
	for slot := piece * blockPiece; slot < min((piece+1)*blockPiece, int(p.state[backend.VolumeBlocks])); slot++ {
		p.block(slot)
	}
}

// block updates a block of the volume.
func (p *integratePlan) block(slot int) {
	const voxels = backend.BlockVoxels
	distance, weight := p.distance[slot*voxels:][:voxels], p.weight[slot*voxels:][:voxels]
	var color []float32
	if p.color != nil {
		color = p.color[slot*3*voxels:][:3*voxels]
	}
	key := [3]int32(p.blocks[3*slot:])
	begin := int(p.begin[slot])
	if begin > 0 {
		clear(distance)
		clear(weight)
		clear(color)
		begin--
	}
	for n := begin; n < p.B; n++ {
		c := &p.cameras[n]
		if !p.inView(c, key) {
			continue
		}
		for i := 0; i < voxels; i += edge {
			y, z := int32(i/edge%edge), int32(i/(edge*edge))
			p.voxels(c, n, key, y, z, (*[edge]float32)(distance[i:]), (*[edge]float32)(weight[i:]), color[min(3*i, len(color)):])
		}
	}
}

// centre returns the coordinate of a voxel's centre relative to the camera.
func centre(key, i int32, voxel, camera float32) float32 {
	return float32((float32(edge*key+i)+0.5)*voxel) - camera
}

// inView reports whether an image may change a block: it is a test of the sphere around the block, whose radius has a margin for rounding.
func (p *integratePlan) inView(c *camera, key [3]int32) bool {
	var w, at [3]float32
	for a := range w {
		w[a] = float32(float32(edge*key[a]+edge/2)*p.Voxel) - c.m[4*a+3]
	}
	for a := range at {
		at[a] = float32(float32(c.m[4+a]*w[1])+float32(c.m[8+a]*w[2])) + float32(c.m[a]*w[0])
	}
	r := edge * p.Voxel
	if at[2] < -r || at[2]-r > p.Far+p.Truncation {
		return false
	}
	for a, f := range [2]float32{c.fx, c.fy} {
		lo := [2]float32{c.cx, c.cy}[a] + 0.5
		hi := lo - float32([2]int{p.W, p.H}[a])
		x := float32(f * at[a])
		if x+float32(lo*at[2]) < -float32(r*(abs(f)+abs(lo))) || x+float32(hi*at[2]) > float32(r*(abs(f)+abs(hi))) {
			return false
		}
	}
	return true
}

func abs(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

// voxels updates the voxels of a block along x.
func (p *integratePlan) voxels(c *camera, n int, key [3]int32, y, z int32, distance, weight *[edge]float32, color []float32) {
	m := c.m
	wy, wz := centre(key[1], y, p.Voxel, m[7]), centre(key[2], z, p.Voxel, m[11])
	px, py, pz := float32(m[4]*wy)+float32(m[8]*wz), float32(m[5]*wy)+float32(m[9]*wz), float32(m[6]*wy)+float32(m[10]*wz)
	width, height := float32(p.W), float32(p.H)
	metric := p.metric[n*p.H*p.W:]
	for i := range distance {
		wx := centre(key[0], int32(i), p.Voxel, m[3])
		z := pz + float32(m[2]*wx)
		if !(z > 0) {
			continue
		}
		inverse := 1 / z
		u := (float32(float32(c.fx*(px+float32(m[0]*wx)))*inverse) + c.cx) + 0.5
		v := (float32(float32(c.fy*(py+float32(m[1]*wx)))*inverse) + c.cy) + 0.5
		if !(u >= 0 && u < width && v >= 0 && v < height) {
			continue
		}
		pixel := int(int32(v))*p.W + int(int32(u))
		depth := metric[pixel]
		s := depth - z
		if !(s >= -p.Truncation) {
			continue
		}
		a := float32(1)
		if p.DepthWeight {
			a = 1 / float32(depth*depth)
		}
		a = min(a, p.MaxWeight)
		sum := weight[i] + a
		if !(sum > 0) {
			continue
		}
		r := a / sum
		distance[i] += float32((max(min(float32(s*p.PerDistance), 1), -1) - distance[i]) * r)
		weight[i] = min(sum, p.MaxWeight)
		if len(color) > 0 {
			image := p.images[n*p.Images.Stride(0)+int(int32(v))*p.Images.Stride(1)+3*int(int32(u)):]
			for k, x := range image[:3] {
				color[3*i+k] += float32((float32(x) - color[3*i+k]) * r)
			}
		}
	}
}
