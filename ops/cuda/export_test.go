package cuda

import (
	"github.com/robocache/robocache/ops/backend"
)

// VoxelizeBy has a backend make voxels by one algorithm where that supports the job, preferred or not.
func VoxelizeBy(b backend.Backend, algorithm string) backend.Backend {
	b.(*gpu).voxelAlgorithm = algorithm
	return b
}

// VoxelizeInTurn has each plan made by the next of the algorithms.
func VoxelizeInTurn(b backend.Backend) backend.Backend { return &inTurn{gpu: b.(*gpu)} }

type inTurn struct {
	*gpu
	plans int
}

func (t *inTurn) Voxelize(job *backend.VoxelizeJob) (backend.VoxelizePlan, error) {
	t.voxelAlgorithm = voxelVariants[t.plans%len(voxelVariants)].name
	t.plans++
	return t.gpu.Voxelize(job)
}

// VoxelAlgorithms are the names of the algorithms.
func VoxelAlgorithms() (names []string) {
	for _, v := range voxelVariants {
		names = append(names, v.name)
	}
	return names
}

// NormsApart has a backend make every norm behind a product by a launch of its own, NormsWhole with the product.
func NormsApart(b backend.Backend) backend.Backend { return normsApart{b.(*gpu)} }
func NormsWhole(b backend.Backend) backend.Backend { return normsWhole{b.(*gpu)} }

type normsApart struct{ *gpu }

func (a normsApart) MatMul(job *backend.MatMulJob) (backend.Plan, error) {
	if normed(job) {
		return a.matMulApart(job)
	}
	return a.gpu.MatMul(job)
}

type normsWhole struct{ *gpu }

func (w normsWhole) MatMul(job *backend.MatMulJob) (backend.Plan, error) { return w.matMulWhole(job) }

// TilesOf has a backend make products that no norm follows in tiles of so many rows and columns: 64 or 128.
func TilesOf(b backend.Backend, size int) backend.Backend { return tilesOf{b.(*gpu), size} }

type tilesOf struct {
	*gpu
	size int
}

func (t tilesOf) MatMul(job *backend.MatMulJob) (backend.Plan, error) {
	form := "nt"
	if job.Plain {
		form = "nn"
	}
	p := &plan{Base: t.Base(job.Bound()), b: t.gpu}
	return p, p.product(job, tileOf(form, t.size, t.size, 128, 3))
}
