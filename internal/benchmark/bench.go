package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
)

// Device describes the measured device in a report.
type Device struct {
	Backend string `json:"backend"`
	Name    string `json:"name"`
	Product string `json:"product"`
	Driver  string `json:"driver,omitempty"`
	Kernels string `json:"kernels,omitempty"`
	Shapes  string `json:"shapes,omitempty"` // the source of launch shapes
}

func deviceOf(dev *ops.Device) Device {
	i := dev.Info()
	return Device{Backend: i.Backend, Name: i.Name, Product: i.Product, Driver: i.Driver, Kernels: i.Kernels, Shapes: i.Shapes}
}

// Row is the measurement for one job.
type Row struct {
	Suite   string `json:"suite"`
	Job     string `json:"job"`
	Keys    []Key  `json:"keys,omitempty"`
	Variant string `json:"variant,omitempty"` // for programs that do a job in several ways

	Time    Stats  `json:"time"`
	Clock   string `json:"clock"`           // events: device time in graph replays; direct: device time, launched one by one; wall: wall clock
	Limit   *Stats `json:"limit,omitempty"` // time to move the least bytes
	How     string `json:"limit_how,omitempty"`
	Sets    int    `json:"sets"`            // input sets that the calls use in turn
	Early   bool   `json:"early,omitempty"` // our kernels may begin before earlier work has ended
	Read    int64  `json:"read_bytes"`      // the least bytes that a call reads
	Written int64  `json:"written_bytes"`

	Ratio float64 `json:"ratio,omitempty"`    // our time divided by the limit's; 1 is the best possible
	GBs   float64 `json:"gb_per_s,omitempty"` // the least bytes divided by our time, 10^9 bytes/s

	HostNs     float64 `json:"host_ns,omitempty"`     // program time to submit a call
	HostAllocs float64 `json:"host_allocs,omitempty"` // allocations to submit a call
	Peers      []Peer  `json:"peers,omitempty"`
}

// rate returns bytes per time in 10^9 bytes/s. The time is in microseconds.
func rate(bytes int64, us float64) float64 {
	if us == 0 {
		return 0
	}
	return float64(bytes) / us / 1e3
}

// Skip is a job that was not measured, with the reason.
type Skip struct {
	Suite string `json:"suite"`
	Job   string `json:"job"`
	Why   string `json:"why"`
}

// Report holds the measurements from one run.
type Report struct {
	Program string   `json:"program"` // the measured program: "robocache 1.2.3", "PyTorch 2.11"
	Device  Device   `json:"device"`
	With    []Device `json:"with,omitempty"`   // further devices that share each job
	NCCL    bool     `json:"nccl,omitempty"`   // they add gradients by NCCL
	Launch  string   `json:"launch,omitempty"` // requested mode: plain, dependent, ready
	Empty   *Stats   `json:"empty,omitempty"`  // an empty kernel in a graph
	Rows    []Row    `json:"rows"`
	Skipped []Skip   `json:"skipped,omitempty"`
	Left    []string `json:"left,omitempty"` // rows from other programs without a matching job here
	Cut     string   `json:"cut,omitempty"`  // why requested jobs are missing, and how many
}

// Run measures jobs on a device, one after the other. It stops at the first error. If the context ends, it stops between two samples:
// the report then has the jobs measured so far, and Cut has the reason.
func Run(ctx context.Context, dev *ops.Device, jobs []Job, opt Options) (report *Report, err error) {
	r, err := newRig(dev, opt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	r.ctx = ctx
	report = &Report{Device: deviceOf(dev), Launch: opt.Launch.String(), NCCL: opt.NCCL}
	for _, d := range opt.With {
		report.With = append(report.With, deviceOf(d))
	}
	if r.queue != nil {
		s, err := r.empty()
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		report.Empty = &s
	}
	report.Skipped, report.Cut, err = r.inTurn(jobs, func(k int, j Job) error {
		row, err := r.measure(j)
		if err != nil {
			return err
		}
		report.Rows = append(report.Rows, *row)
		if opt.Measured != nil {
			opt.Measured(k+1, len(jobs), row)
		}
		return nil
	})
	return report, err
}

// inTurn calls do for each job until the context ends. It returns the jobs that the backend cannot do. If other jobs are missing, cut
// is the reason.
func (r *rig) inTurn(jobs []Job, do func(k int, j Job) error) (skips []Skip, cut string, err error) {
	for k, j := range jobs {
		err := r.ctx.Err()
		if err == nil {
			if r.opt.Progress != nil {
				r.opt.Progress(k, len(jobs), j)
			}
			err = do(k, j)
		}
		why, lacks := lacking(err)
		switch {
		case err == nil:
		case r.ctx.Err() != nil && errors.Is(err, r.ctx.Err()):
			return skips, fmt.Sprintf("after %d of %d jobs: %v", k, len(jobs), context.Cause(r.ctx)), nil
		case lacks:
			skips = append(skips, Skip{j.Suite(), j.Name(), why})
		default:
			return nil, "", fmt.Errorf("%s %s: %w", j.Suite(), j.Name(), err)
		}
	}
	return skips, "", nil
}

// lacking returns the missing capability if err means that the backend cannot do a job.
func lacking(err error) (string, bool) {
	var skip *skipped
	switch {
	case err == nil:
		return "", false
	case errors.As(err, &skip):
		return skip.why, true
	case errors.Is(err, errors.ErrUnsupported), errors.Is(err, ops.ErrNoDevice), errors.Is(err, cudadrv.ErrUnsupported):
		return err.Error(), true
	}
	return "", false
}

func (r *rig) measure(j Job) (row *Row, err error) {
	if _, train := j.(*TrainJob); !train && len(r.opt.With) > 0 {
		return nil, &skipped{"it is a job of one device"}
	}
	w, err := j.prepare(r)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	row = &Row{Suite: j.Suite(), Job: j.Name(), Keys: j.Keys(), Sets: w.sets, Read: w.read, Written: w.written}
	switch {
	case r.queue == nil || w.own:
		row.Clock = "wall"
	case w.direct:
		row.Clock = "direct"
	default:
		row.Clock = "events"
	}
	if row.Early, err = early(r, w); err != nil {
		return nil, err
	}
	if row.Time, err = r.time(w); err != nil {
		return nil, err
	}
	if !w.own {
		if row.HostNs, row.HostAllocs, err = r.host(w, row.Time.Median); err != nil {
			return nil, err
		}
		if r.queue == nil {
			row.HostNs = 0 // the program does the work itself
		}
	}
	var limit Stats
	switch {
	case w.floor != nil:
		row.How = w.how
		limit, err = r.time(w.floor)
	case w.limit:
		if err = w.close(); err == nil { // to free memory for the limit
			limit, row.How, err = r.limitOf(w.read, w.written, w.sets)
		}
	}
	if err != nil {
		return nil, err
	}
	row.GBs = rate(row.Read+row.Written, row.Time.Median)
	if limit.Samples > 0 {
		row.Limit, row.Ratio = &limit, row.Time.Median/limit.Median
	}
	return row, nil
}

// early reports whether the launches in a job's plan may begin before earlier work has ended.
func early(r *rig, w *work) (bool, error) {
	if r.queue == nil || w.plan == nil {
		return false, nil
	}
	list, err := cuda.Explain(w.plan)
	return slices.ContainsFunc(list, func(l cuda.Launch) bool { return l.Dependent }), err
}
