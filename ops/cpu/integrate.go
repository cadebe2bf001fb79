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
)

// integratePlan is an Integrate bound to host memory.
//
// A hash table holds the keys for the volume's blocks and for new blocks. first has 0 for a block that is in the volume already, and
// n + 1 for a new block if image n is the first that shows it. A key is a block's x, y and z, with x in the highest bits.
type integratePlan struct {
	steppedPlan
	*backend.IntegrateJob
	depth                   depthImages
	metric                  []float32 // [B,H,W]: valid depths in metres, and NaN for others
	intrinsics, poses       []float32
	distance, weight, color []float32
	images                  []uint8
	blocks                  []int32
	state, counts           []int64
	cameras                 []camera
	keys                    []uint64
	first                   []uint32
	places                  []uint32 // each block's index in the table, in the volume's order
	found                   atomic.Int64
	shift                   int                               // hash >> shift is an index in the table
	memo                    [][backend.MaxRaySteps + 1]uint64 // each worker's last key for each sample of a ray
}

// camera is an image's camera.
type camera struct {
	k *[4]float32 // fx, fy, cx and cy
	m *[16]float32
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
	p.cameras = make([]camera, job.B)
	p.metric = make([]float32, job.B*job.H*job.W)
	p.keys, p.first = make([]uint64, 1<<job.TableBits()), make([]uint32, 1<<job.TableBits())
	p.shift = 64 - job.TableBits()
	p.places = make([]uint32, job.M)
	p.memo = make([][backend.MaxRaySteps + 1]uint64, b.workers)
	p.checks, p.work = task{pieces: job.B * job.H, do: p.row}, task{pieces: job.M, do: p.block}
	p.by = p.all
	return p, nil
}

func (p *integratePlan) all(do func(*task)) error {
	clear(p.counts)
	fill(p.keys, noBlock)
	fill(p.first, math.MaxUint32)
	used := min(max(int(p.state[backend.VolumeBlocks]), 0), p.M)
	p.found.Store(0)
	for slot := range used {
		p.show(keyOf([3]int32(p.blocks[3*slot:])), 0)
	}
	p.found.Store(int64(used))
	for n := range p.cameras {
		p.cameras[n] = camera{(*[4]float32)(p.intrinsics[n*p.IntrinsicsStep:]), (*[16]float32)(p.poses[n*p.PoseStep:])}
	}
	do(&p.checks)
	if p.state[backend.VolumeRefused] > 0 || int(p.found.Load()) > p.M {
		p.state[backend.VolumeRefused] += int64(p.B)
		return nil
	}
	fresh := p.places[used:p.found.Load()]
	slices.SortFunc(fresh, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(p.first[a], p.first[b]), cmp.Compare(p.keys[a], p.keys[b]))
	})
	for _, place := range fresh {
		key := p.keys[place]
		for a := range 3 {
			p.blocks[3*used+a] = int32(key>>(backend.BlockBits*(2-a))&(2*blockRange-1)) - blockRange
		}
		if p.counts != nil {
			p.counts[backend.CountWords*int(p.first[place]-1)+backend.CountBlocks]++
		}
		used++
	}
	p.state[backend.VolumeBlocks] = int64(used)
	p.state[backend.VolumeIntegrated] += int64(p.B)
	p.work.pieces = used
	do(&p.work)
	return nil
}

func keyOf(block [3]int32) (key uint64) {
	for _, x := range block {
		key = key<<backend.BlockBits | uint64(x+blockRange)&(2*blockRange-1)
	}
	return key
}

// show adds a block with n for first, which keeps the least n. It adds nothing more if there are more than M blocks.
func (p *integratePlan) show(key uint64, n uint32) {
	at := int(key * 0x9e3779b97f4a7c15 >> p.shift)
	for range p.keys {
		was := atomic.LoadUint64(&p.keys[at])
		if was == noBlock {
			if p.found.Load() > int64(p.M) {
				return
			}
			if atomic.CompareAndSwapUint64(&p.keys[at], noBlock, key) {
				if i := int(p.found.Add(1)) - 1; i < p.M {
					p.places[i] = uint32(at)
				}
			}
			was = atomic.LoadUint64(&p.keys[at])
		}
		if was == key {
			for was := atomic.LoadUint32(&p.first[at]); n < was && !atomic.CompareAndSwapUint32(&p.first[at], was, n); {
				was = atomic.LoadUint32(&p.first[at])
			}
			return
		}
		at = (at + 1) & (len(p.keys) - 1)
	}
}

// row counts the pixels in one row, and shows the blocks near the surface there.
func (p *integratePlan) row(piece, worker int) {
	n, v := piece/p.H, piece%p.H
	c := &p.cameras[n]
	from := n*p.depth.image + v*p.depth.row
	memo := p.memo[worker][:p.Steps+1]
	fill(memo, noBlock)
	var found [backend.CountBlocks]int64
	ry := (float32(v) - c.k[3]) / c.k[1]
	metric := p.metric[piece*p.W:][:p.W]
	for u := range metric {
		z, kind := p.depth.at(from, u)
		metric[u] = float32(math.NaN())
		if kind == backend.CountValid {
			metric[u] = z
			rx := (float32(u) - c.k[2]) / c.k[0]
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
					p.show(last, uint32(n+1))
				}
				for i := 0; key != last; key = p.sample(c, &d, z, i) { // samples between two of one block are in that block too
					if key != memo[i] {
						memo[i] = key
						p.show(key, uint32(n+1))
					}
					if step := min(key-last, last-key); step == 1 || step == 1<<backend.BlockBits || step == 1<<(2*backend.BlockBits) {
						break // no other block is between neighbours
					}
					i++
				}
			}
		}
		found[kind]++
	}
	if p.counts != nil {
		for i, c := range found {
			atomic.AddInt64(&p.counts[backend.CountWords*n+i], c)
		}
	}
}

// sample returns the key for the block at sample i on a ray, or noBlock if that is out of range.
func (p *integratePlan) sample(c *camera, d *[3]float32, z float32, i int) (key uint64) {
	t := (z - p.Truncation) + float32(float32(i)*p.Step)
	if t < 0 {
		t = 0 // the built-in max is slower
	}
	for a, d := range d {
		at := float32((float32(d*t) + c.m[4*a+3]) * p.PerBlock)
		if !(at >= -blockRange && at < blockRange) {
			return noBlock
		}
		block := int(at)
		if float32(block) > at {
			block--
		}
		key = key<<backend.BlockBits | uint64(block+blockRange)
	}
	return key
}

// block updates a block of the volume.
func (p *integratePlan) block(slot, _ int) {
	const voxels = backend.BlockVoxels
	distance, weight := p.distance[slot*voxels:][:voxels], p.weight[slot*voxels:][:voxels]
	var color []float32
	if p.color != nil {
		color = p.color[slot*3*voxels:][:3*voxels]
	}
	key := [3]int32(p.blocks[3*slot:])
	begin := int(p.first[p.places[slot]])
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

// inView reports whether an image may change a block. It tests the sphere around the block, with a margin because positions are rounded.
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
	for a, size := range [2]int{p.W, p.H} {
		f, lo := c.k[a], c.k[2+a]+0.5
		hi, x := lo-float32(size), float32(f*at[a])
		if x+float32(lo*at[2]) < -float32(r*(max(f, -f)+max(lo, -lo))) || x+float32(hi*at[2]) > float32(r*(max(f, -f)+max(hi, -hi))) {
			return false
		}
	}
	return true
}

// voxels updates the voxels of a block along x.
func (p *integratePlan) voxels(c *camera, n int, key [3]int32, y, z int32, distance, weight *[edge]float32, color []float32) {
	m := c.m
	wy, wz := centre(key[1], y, p.Voxel, m[7]), centre(key[2], z, p.Voxel, m[11])
	px, py, pz := float32(m[4]*wy)+float32(m[8]*wz), float32(m[5]*wy)+float32(m[9]*wz), float32(m[6]*wy)+float32(m[10]*wz)
	width, height := float32(p.W), float32(p.H)
	for i := range distance {
		wx := centre(key[0], int32(i), p.Voxel, m[3])
		z := pz + float32(m[2]*wx)
		if !(z > 0) {
			continue
		}
		inverse := 1 / z
		u := (float32(float32(c.k[0]*(px+float32(m[0]*wx)))*inverse) + c.k[2]) + 0.5
		v := (float32(float32(c.k[1]*(py+float32(m[1]*wx)))*inverse) + c.k[3]) + 0.5
		if !(u >= 0 && u < width && v >= 0 && v < height) {
			continue
		}
		depth := p.metric[(n*p.H+int(v))*p.W+int(u)]
		s := depth - z
		if !(s >= -p.Truncation) {
			continue
		}
		a := float32(1)
		if p.DepthWeight {
			a = 1 / float32(depth*depth)
		}
		if a > p.MaxWeight {
			a = p.MaxWeight
		}
		sum := weight[i] + a
		if !(sum > 0) {
			continue
		}
		r := a / sum
		now := float32(s * p.PerDistance)
		if now > 1 {
			now = 1
		} else if now < -1 {
			now = -1
		}
		distance[i] += float32((now - distance[i]) * r)
		if weight[i] = sum; sum > p.MaxWeight {
			weight[i] = p.MaxWeight
		}
		if len(color) > 0 {
			image := p.images[n*p.Images.Stride(0)+int(v)*p.Images.Stride(1)+3*int(u):]
			for k, x := range image[:3] {
				color[3*i+k] += float32((float32(x) - color[3*i+k]) * r)
			}
		}
	}
}
