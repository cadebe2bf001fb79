package benchmark

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
)

// Peer is another program's time for a row's job.
type Peer struct {
	Who  string `json:"who"`
	Time Stats  `json:"time"`
}

// ReadReport reads a report as JSON. Other programs write the same form with the fields that they have: program, device and rows, each
// row with suite, job, variant and time. Only the time is required.
func ReadReport(in io.Reader, name string) (*Report, error) {
	r := &Report{}
	marked := struct {
		Schema json.RawMessage `json:"schema"` // from bench --json
		*Report
	}{Report: r}
	if err := strict(in, &marked); err != nil {
		return nil, &InputError{name, err.Error(), "a report, as --json writes it"}
	}
	if len(r.Rows) == 0 {
		return nil, &InputError{name, "no rows", "at least one"}
	}
	for i, row := range r.Rows {
		if row.Suite == "" || row.Job == "" || !(row.Time.Median > 0) {
			return nil, &InputError{fmt.Sprintf("%s, row %d", name, i), fmt.Sprintf("suite %q, job %q, median %v", row.Suite, row.Job, row.Time.Median),
				"a suite, a job and a time"}
		}
	}
	return r, nil
}

// who returns the name for a row from a report.
func (r *Report) who(row *Row) string {
	return strings.TrimSpace(r.Program + " " + row.Variant)
}

// Compare adds the other report's times to rows with the same suite and job. It adds the names of its other rows to Left.
func (r *Report) Compare(other *Report) {
	for i := range other.Rows {
		o := &other.Rows[i]
		found := false
		for k := range r.Rows {
			if mine := &r.Rows[k]; mine.Suite == o.Suite && mine.Job == o.Job {
				mine.Peers = append(mine.Peers, Peer{Who: other.who(o), Time: o.Time})
				found = true
			}
		}
		if !found {
			r.Left = append(r.Left, fmt.Sprintf("%s %s by %s", o.Suite, o.Job, other.who(o)))
		}
	}
}

// suites lists the suites in the report's rows, in order.
func (r *Report) suites() []string {
	var out []string
	for _, row := range r.Rows {
		if !slices.Contains(out, row.Suite) {
			out = append(out, row.Suite)
		}
	}
	return out
}

// WriteWorst writes the median ratio to the limit, for all rows and for each suite, and the n rows with the highest ratio.
func (r *Report) WriteWorst(out io.Writer, n int, title string) error {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Limit == nil })
	slices.SortStableFunc(rows, func(x, y Row) int { return cmp.Compare(y.Ratio, x.Ratio) })
	median := func(rows []Row) float64 { return rows[len(rows)/2].Ratio }
	if len(rows) == 0 {
		_, err := fmt.Fprintln(out, "\nno job has a limit")
		return err
	}
	var each []string
	for _, suite := range r.suites() {
		if of := slices.DeleteFunc(slices.Clone(rows), func(row Row) bool { return row.Suite != suite }); len(of) > 0 {
			each = append(each, fmt.Sprintf("%s %.2f", suite, median(of)))
		}
	}
	text := fmt.Sprintf("\nmedian ratio %.2f: %s\nthe worst of %d%s:\n\n", median(rows), strings.Join(each, ", "), len(rows), title)
	for _, row := range rows[:min(len(rows), n)] {
		text += fmt.Sprintf("    %.2f  %s us  %s %s\n", row.Ratio, us(row.Time.Median), row.Suite, row.Job)
	}
	_, err := io.WriteString(out, text)
	return err
}

// names returns the devices' names.
func (r *Report) names() string {
	text := r.Device.Name
	for _, d := range r.With {
		text += " and " + d.Name
	}
	if r.NCCL {
		text += " by NCCL"
	}
	return text
}

// WriteTable writes one table for each suite, followed by the comparison with peers.
func (r *Report) WriteTable(out io.Writer) error {
	d := r.Device
	fmt.Fprintf(out, "%s on %s, %s", r.Program, r.names(), d.Product)
	for _, s := range []string{d.Driver, d.Kernels} {
		if s != "" {
			fmt.Fprintf(out, "; %s", s)
		}
	}
	fmt.Fprintln(out)
	if d.Shapes != "" {
		fmt.Fprintf(out, "launch shapes: %s\n", d.Shapes)
	}
	if d.Backend == "sim" {
		fmt.Fprintln(out, "these are times of a simulation: they mean nothing for a GPU")
	}
	if r.Empty != nil {
		fmt.Fprintf(out, "an empty kernel in a graph: %s us\n", us(r.Empty.Median))
	}
	if r.Launch != "" && r.Launch != ops.LaunchDefault.String() {
		fmt.Fprintf(out, "launch mode: %s; jobs timed early were launched so, and the rest plainly\n", r.Launch)
	}
	fmt.Fprintln(out, "microseconds a call; medians and percentiles of samples, each the mean of a batch of calls")
	for _, name := range r.suites() {
		fmt.Fprintf(out, "\n%s\n", name)
		if err := r.table(out, name); err != nil {
			return err
		}
		if err := r.peers(out, name); err != nil {
			return err
		}
	}
	for i, s := range r.Skipped {
		if i == 0 {
			fmt.Fprintln(out, "\nnot measured:")
		}
		fmt.Fprintf(out, "  %s %s: %s\n", s.Suite, s.Job, s.Why)
	}
	if r.Cut != "" {
		fmt.Fprintf(out, "\ncut short %s\n", r.Cut)
	}
	if len(r.Left) > 0 {
		fmt.Fprintf(out, "\nof others, without a counterpart here:\n  %s\n", strings.Join(r.Left, "\n  "))
	}
	return nil
}

func (r *Report) table(out io.Writer, suite string) error {
	w := text.NewTable(out, tabwriter.AlignRight)
	fmt.Fprintln(w, "job\tours\tp10..p90\tlimit\tratio\tGB/s\tlimit GB/s\tMB a call\tsets\tsamples x calls\ttimed by\thost ns\tallocs\t")
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Suite != suite {
			continue
		}
		limit, ratio, gbs, top, mb, host, clock := "-", "-", "-", "-", "-", "-", row.Clock
		if row.Early {
			clock += ", early"
		}
		if bytes := row.Read + row.Written; bytes > 0 {
			gbs, mb = number(row.GBs), number(float64(bytes)/1e6)
			if row.Limit != nil {
				top = number(rate(bytes, row.Limit.Median))
			}
		}
		if row.Limit != nil {
			limit, ratio = us(row.Limit.Median), fmt.Sprintf("%.2f", row.Ratio)
		}
		if row.HostNs > 0 {
			host = fmt.Sprintf("%.0f", row.HostNs)
		}
		fmt.Fprintf(w, "%s\t%s\t%s..%s\t%s\t%s\t%s\t%s\t%s\t%d\t%d x %d\t%s\t%s\t%.0f\t\n", row.Job, us(row.Time.Median), us(row.Time.P10), us(row.Time.P90),
			limit, ratio, gbs, top, mb, row.Sets, row.Time.Samples, row.Time.Calls, clock, host, row.HostAllocs)
	}
	return w.Flush()
}

// peers writes the peers' times for the same jobs, and how many times ours they are.
func (r *Report) peers(out io.Writer, suite string) error {
	w := text.NewTable(out, 0)
	head := false
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Suite != suite {
			continue
		}
		for _, p := range row.Peers {
			if !head {
				fmt.Fprintln(out, "\nothers, on the same jobs")
				fmt.Fprintln(w, "job\twho\tus\tours\ttheirs / ours")
				head = true
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.2f\n", row.Job, p.Who, us(p.Time.Median), us(row.Time.Median), p.Time.Median/row.Time.Median)
		}
	}
	return w.Flush()
}

// us formats microseconds with the significant digits.
func us(v float64) string { return number(v) }

func number(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v >= 0.1 || v == 0:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// WriteBenchstat writes the rows in the format of go test benchmarks, for benchstat. Each sample is a line. Rows that were read from a
// file have one line with the median.
func (r *Report) WriteBenchstat(out io.Writer) error {
	fmt.Fprintf(out, "program: %s\ndevice: %s\n", r.Program, r.Device.Product)
	for i := range r.Rows {
		row := &r.Rows[i]
		name := "Benchmark" + strings.ToUpper(row.Suite[:1]) + row.Suite[1:] + "/backend=" + strings.ReplaceAll(r.names(), " and ", ",")
		for _, k := range row.Keys {
			name += "/" + k.Name + "=" + strings.ReplaceAll(k.Value, " ", "_")
		}
		samples := row.Time.samples
		if samples == nil {
			samples = []float64{row.Time.Median}
		}
		for _, s := range samples {
			line := fmt.Sprintf("%s %d %.1f ns/op", name, max(row.Time.Calls, 1), 1e3*s)
			if bytes := row.Read + row.Written; bytes > 0 {
				line += fmt.Sprintf(" %.3f GB/s", rate(bytes, s))
			}
			if row.Limit != nil {
				line += fmt.Sprintf(" %.4f x-limit", s/row.Limit.Median)
			}
			if _, err := fmt.Fprintln(out, line); err != nil {
				return err
			}
		}
	}
	return nil
}
