package cuda

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// manyTiles is the number of 128 x 128 tiles from which a product uses that tile size. Fewer tiles would leave much of a GPU idle.
const manyTiles = 128

// A product with K of at least deepProduct and no more 64 x 64 tiles than tilesAtOnce, about one for each multiprocessor, uses the deep kernels. They copy five
// steps ahead, because no other block works while one waits for memory.
const tilesAtOnce, deepProduct = 132, 512

// fewRows is the row count up to which blocks of 64 whole rows leave most of a GPU idle. For so few rows, a norm (or its gradient)
// becomes a separate launch if N x K is at least normApart (or normBackApart). For smaller products the extra launch costs more than it
// saves.
const fewRows, normApart, normBackApart = 2048, 256 * 256, 512 * 512

func (b *gpu) MatMul(job *backend.MatMulJob) (backend.Plan, error) {
	if normed(job) && (apart(job) || matMulKernel(job).shared > b.shared) {
		return b.matMulApart(job)
	}
	return b.matMulWhole(job)
}

// apart reports whether the norm gets its own launch. It depends only on the job's shape, like matMulKernel.
func apart(job *backend.MatMulJob) bool {
	products := normApart
	if job.NormBack != nil {
		products = normBackApart
	}
	return job.M <= fewRows && job.N > 128 && job.N*job.K >= products
}

// normed reports whether the product is followed by a norm or a norm's gradient.
func normed(job *backend.MatMulJob) bool { return job.Norm != nil || job.NormBack != nil }

// matMulWhole computes the job in one launch. If there is a norm, blocks have whole rows.
func (b *gpu) matMulWhole(job *backend.MatMulJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	return p, p.product(job, matMulKernel(job))
}

// matMulApart computes the product in tiles, as float32 in Sum, and then the norm in place with the same bits. This allows many blocks
// with few rows, and a tile needs less shared memory than a row.
func (b *gpu) matMulApart(job *backend.MatMulJob) (backend.Plan, error) {
	p := b.plan(job.Bound(), nil)
	product := *job
	product.Norm, product.NormBack, product.DGamma, product.DBeta, product.After, product.Out, product.OutDropout = nil, nil, nil, nil, nil, nil, backend.Dropout{}
	if err := p.product(&product, matMulKernel(&product)); err != nil {
		return nil, err
	}
	if job.Norm != nil {
		stats := *job.Norm
		stats.Z = job.Sum
		return p, p.norm(&backend.NormJob{M: job.M, N: job.N, Eps: job.Eps, Norm: stats, Out: job.Out})
	}
	return p, p.normBackward(&backend.NormBackwardJob{M: job.M, N: job.N, G: job.Sum, Norm: *job.NormBack, DGamma: job.DGamma, DBeta: job.DBeta, After: job.After,
		Sum: job.Sum, Out: job.Out, OutDropout: job.OutDropout})
}

// product adds the launch of kernel k for a job.
func (p *plan) product(job *backend.MatMulJob, k tileKernel) error {
	room := normed(job) && k.shared+4*k.rows*k.columns <= p.b.shared
	if room {
		k.shared += 4 * k.rows * k.columns
	}
	columns := blocksOfRows(job.N, k.columns)
	return p.Add(p.b.bind(k.name, backend.LaunchDependent, blocksOfRows(job.M, k.rows)*columns, k.threads, k.shared, matMulParams(job, columns, room)))
}

// tileKernel is a matrix product kernel. Each block computes a tile of rows x columns elements.
type tileKernel struct {
	name                   string
	rows, columns, threads int
	shared                 int // bytes
}

// matMulKernel chooses the kernel by the job's shape alone, so that a job uses the same kernel on every device. All kernels give the
// same bits.
func matMulKernel(job *backend.MatMulJob) tileKernel {
	form := "nt"
	switch {
	case job.Norm != nil:
		form = "norm"
	case job.NormBack != nil:
		form = "norm_back"
	case job.Plain:
		form = "nn"
	}
	if normed(job) {
		switch {
		case job.N <= 64:
			return tileOf(form, 64, 64, 128, 3)
		case job.N <= 128:
			return tileOf(form, 64, 128, 128, 3)
		case job.N <= 256:
			return tileOf(form, 64, 256, 256, 4)
		}
		return tileOf(form, 64, 512, 256, 2)
	}
	if blocksOfRows(job.M, 128)*blocksOfRows(job.N, 128) >= manyTiles {
		return tileOf(form, 128, 128, 128, 3)
	}
	if job.M <= 32 && !job.Plain {
		return tileOf(form, 32, 32, 128, 8)
	}
	if blocksOfRows(job.M, 64)*blocksOfRows(job.N, 64) <= tilesAtOnce && job.K >= deepProduct {
		return tileOf(form+"_deep", 64, 64, 128, 6)
	}
	return tileOf(form, 64, 64, 128, 3)
}

func tileOf(form string, rows, columns, threads, stages int) tileKernel {
	return tileKernel{fmt.Sprintf("matmul_%s_%d", form, columns), rows, columns, threads, max(stages*(rows+columns)*128, rows*(columns+8)*4)}
}

// rowStep returns the bytes between a tensor's rows; 0 for nil.
func rowStep(t *tensor.Tensor) uint32 {
	if t == nil {
		return 0
	}
	return uint32(t.Stride(0) * t.DType().Size())
}

// matMulParams returns the parameter for matmul.cuh. If room is true, a norm's block has a float32 in shared memory for each element.
func matMulParams(job *backend.MatMulJob, columns int, room bool) *ptx.MatmulParams {
	p := &ptx.MatmulParams{
		A: address(job.A), B: address(job.B), AStep: rowStep(job.A), BStep: rowStep(job.B), M: uint32(job.M), N: uint32(job.N), K: uint32(job.K), Columns: uint32(columns),
		Bias: address(job.Bias), Pre: address(job.Pre), PreStep: rowStep(job.Pre), Gate: address(job.Gate), GateStep: rowStep(job.Gate),
		Dgamma: address(job.DGamma), Dbeta: address(job.DBeta), DgammaStep: rowStep(job.DGamma), DbetaStep: rowStep(job.DBeta),
		After: address(job.After), AfterStep: rowStep(job.After), Sum: address(job.Sum), SumStep: rowStep(job.Sum), Out: address(job.Out), OutStep: rowStep(job.Out),
		Dropout: dropoutOf(job.Dropout), OutDropout: dropoutOf(job.OutDropout), Eps: job.Eps,
	}
	if job.Residual != nil {
		p.Residual = matMulNorm(job.ResidualNorm)
		p.Residual.Z, p.Residual.ZStep, p.ResidualRows = address(job.Residual), rowStep(job.Residual), uint32(job.Residual.Dim(0))
	}
	flags := ptx.MatmulParamsFlags{Activation: uint32(job.Activation), Still: job.Still, Room: room, Ahead: room && job.Residual != nil && job.Residual.Dim(0) == job.M}
	switch {
	case job.Norm != nil:
		p.Norm = matMulNorm(job.Norm)
	case job.NormBack != nil:
		p.Norm = matMulNorm(job.NormBack)
	}
	if job.Gate != nil {
		flags.GateOf = uint32(job.GateOf)
	}
	flags.Narrow = job.Out != nil && job.Sum == nil && job.Pre == nil && job.Residual == nil && job.After == nil && job.Dropout.Rate == 0 && job.OutDropout.Rate == 0 &&
		job.Activation != backend.ActivationGELU && (job.Gate == nil || job.GateOf == backend.ActivationReLU)
	p.Flags = flags.Word()
	return p
}

func matMulNorm(n *backend.NormStats) (p ptx.MatmulNorm) {
	if n != nil {
		p = ptx.MatmulNorm{Z: address(n.Z), ZStep: rowStep(n.Z), Mean: address(n.Mean), Rstd: address(n.Rstd), Gamma: address(n.Gamma), Beta: address(n.Beta)}
	}
	return p
}
