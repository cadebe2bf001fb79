package benchmark

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// TallyJob is a pass of exact statistics over Rows x Columns float32 values. With Known 0 it is the first pass; otherwise it is a pass
// for the prefixes of Known bits, taken from the values at twelve ranks. Every run adds to the same counts.
type TallyJob struct {
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
	Known   int    `json:"known,omitempty"` // 0, 11 or 22
	Values  string `json:"values"`          // normal: independent, from one distribution; robot: slowly changing, some constant
}

var tallyValues = []string{"normal", "robot"}

var tallySuite = suite{
	name: "tally", about: "passes of exact statistics over the columns of a matrix",
	jobs: func() []Job {
		var out []Job
		for _, values := range tallyValues {
			for _, known := range []int{0, 11, 22} {
				out = append(out, &TallyJob{Rows: 1_000_000, Columns: 26, Known: known, Values: values})
			}
		}
		return out
	},
	empty: func() Job { return &TallyJob{} },
	random: func(rng *rand.Rand) Job {
		return &TallyJob{Rows: logUniform(rng, 1, 1<<20), Columns: logUniform(rng, 1, 64), Known: 11 * rng.IntN(3), Values: tallyValues[rng.IntN(2)]}
	},
}

func (j *TallyJob) Suite() string { return "tally" }

// Name returns the rows, the columns, the values and the known bits.
func (j *TallyJob) Name() string {
	return fmt.Sprintf("%sx%d %s, %d bits known", count(j.Rows), j.Columns, j.Values, j.Known)
}

func (j *TallyJob) Keys() []Key {
	return keysOf("rows", j.Rows, "columns", j.Columns, "known", j.Known, "values", j.Values)
}

func (j *TallyJob) check() error {
	switch {
	case !slices.Contains(tallyValues, j.Values):
		return &InputError{"values", fmt.Sprintf("%q", j.Values), fmt.Sprintf("one of %v", tallyValues)}
	case j.Known != 0 && j.Known != 11 && j.Known != 22:
		return &InputError{"known", fmt.Sprint(j.Known), "0, 11 or 22"}
	}
	return errors.Join(within("rows", j.Rows, 1, math.MaxInt32), within("columns", j.Columns, 1, 1<<16), within("rows*columns", j.Rows*j.Columns, 1, 1<<36))
}

// rows generates n rows.
func (j *TallyJob) rows(n int) []float32 {
	rng := rand.New(rand.NewPCG(seed, 9))
	out := make([]float32, n*j.Columns)
	for i := range out {
		row, c := i/j.Columns, i%j.Columns
		switch {
		case j.Values == "normal":
			out[i] = float32(rng.NormFloat64())
		case c%8 == 6:
			out[i] = float32(row / 500 % 2)
		case c%8 == 7:
			out[i] = 0.5
		default:
			out[i] = float32(math.Sin(float64(row)/200+float64(c)) + 0.001*rng.NormFloat64())
		}
	}
	return out
}

// distinct is how many rows are generated before they repeat.
const distinct = 1 << 20

func (j *TallyJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	const prefixes = 12
	// Per column: words that are added to, and prefixes.
	p, tables, known := 1, int64(ops.TallyDigits+ops.TallyBins*ops.TallyWords), int64(0)
	if j.Known > 0 {
		p, tables, known = prefixes, prefixes*ops.TallyDigits, prefixes
	}
	columns := int64(j.Columns)
	w := &work{limit: true, read: 4*int64(j.Rows)*columns + 8*(tables+known)*columns, written: 8 * tables * columns}
	w.sets = r.sets(w.read + w.written)
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }
	src, err := r.alloc(w, tensor.F32, w.sets, j.Rows, j.Columns)
	if err != nil {
		return fail(err)
	}
	list := j.rows(min(j.Rows, distinct))
	if err := j.fill(r, src, list); err != nil {
		return fail(err)
	}
	var all ops.TallyArgs // for all sets
	put := func(to **tensor.Tensor, list []int64, shape ...int) {
		if err == nil {
			var host *tensor.Tensor
			host, err = tensor.Of(list, shape...)
			*to, err = r.put(w, host, err)
		}
	}
	put(&all.Counts, make([]int64, j.Columns*p*ops.TallyDigits), j.Columns, p, ops.TallyDigits)
	if j.Known == 0 {
		put(&all.Sums, make([]int64, j.Columns*ops.TallyBins*ops.TallyWords), j.Columns, ops.TallyBins, ops.TallyWords)
	} else {
		put(&all.Prefixes, j.prefixes(list, p), j.Columns, p)
	}
	if err != nil {
		return fail(err)
	}
	w.outputs = append(w.outputs, all.Counts)
	if all.Sums != nil {
		w.outputs = append(w.outputs, all.Sums)
	}
	err = r.plans(w, func(i int) (*ops.Plan, error) {
		args := ops.TallyArgs{Src: at(src, i), Counts: at(all.Counts, i)}
		if j.Known == 0 {
			args.Sums = at(all.Sums, i)
		} else {
			args.Prefixes = at(all.Prefixes, i)
		}
		return r.dev.PlanTally(args, ops.TallyOptions{Known: j.Known})
	})
	if err != nil {
		return fail(err)
	}
	return w, nil
}

// fill fills src [sets,N,D] with the rows, repeated.
func (j *TallyJob) fill(r *rig, src *tensor.Tensor, list []float32) error {
	n := len(list) / j.Columns
	for set := range src.Dim(0) {
		one := at(src, set)
		for from := 0; from < j.Rows; from += n {
			rows := min(n, j.Rows-from)
			host, err := tensor.Of(list[:rows*j.Columns], rows, j.Columns)
			if err != nil {
				return err
			}
			part, err := one.Slice(0, from, from+rows)
			if err != nil {
				return err
			}
			if err := r.dev.Copy(r.ctx, part, host); err != nil {
				return err
			}
		}
	}
	return nil
}

// prefixes returns, for each column, the first bits of the values at p ranks from the first to the last.
func (j *TallyJob) prefixes(list []float32, p int) []int64 {
	var out []int64
	for c := range j.Columns {
		var column []float32
		for i := c; i < len(list) && len(column) < 1<<12; i += j.Columns {
			column = append(column, list[i])
		}
		slices.Sort(column)
		for k := range p {
			out = append(out, int64(math.Float32bits(column[k*(len(column)-1)/(p-1)])>>(32-j.Known)))
		}
	}
	return out
}
