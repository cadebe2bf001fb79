package benchmark

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteMarkdown writes the rows as Markdown, with one table for each suite, after a line about the device. A peer has two columns: its
// time, and its time divided by ours.
func (r *Report) WriteMarkdown(out io.Writer) error {
	about := []string{r.Program, r.Device.Product}
	if len(r.With) > 0 {
		about = append(about, r.names())
	}
	for _, s := range []string{r.Device.Driver, r.Device.Kernels, r.Device.Shapes} {
		if s != "" {
			about = append(about, s)
		}
	}
	if r.Launch != "" {
		about = append(about, "launch mode "+r.Launch)
	}
	if _, err := fmt.Fprintf(out, "%s. Microseconds a call.\n", strings.Join(about, "; ")); err != nil {
		return err
	}
	for _, suite := range r.suites() {
		if err := r.markdown(out, suite); err != nil {
			return err
		}
	}
	for i, s := range r.Skipped {
		if i == 0 {
			fmt.Fprint(out, "\nNot measured:\n\n")
		}
		fmt.Fprintf(out, "- %s %s: %s\n", s.Suite, s.Job, s.Why)
	}
	if r.Cut != "" {
		_, err := fmt.Fprintf(out, "\nCut short %s.\n", r.Cut)
		return err
	}
	return nil
}

func (r *Report) markdown(out io.Writer, suite string) error {
	var rows []*Row
	var peers []string
	limits := false
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Suite != suite {
			continue
		}
		rows, limits = append(rows, row), limits || row.Limit != nil
		for _, p := range row.Peers {
			if !slices.Contains(peers, p.Who) {
				peers = append(peers, p.Who)
			}
		}
	}
	line := func(cells ...string) string {
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", `\|`)
		}
		return "| " + strings.Join(cells, " | ") + " |\n"
	}
	head := []string{suite, "ours", "p10..p90"}
	if limits {
		head = append(head, "limit", "ratio")
	}
	for _, who := range peers {
		head = append(head, who, "that / ours")
	}
	text := "\n" + line(slices.Clone(head)...) + strings.Repeat("|---", len(head)) + "|\n"
	for _, row := range rows {
		t := row.Time
		cells := []string{row.Job, us(t.Median), us(t.P10) + ".." + us(t.P90)}
		switch {
		case row.Limit != nil:
			cells = append(cells, us(row.Limit.Median), fmt.Sprintf("%.2f", row.Ratio))
		case limits:
			cells = append(cells, "", "")
		}
		for _, who := range peers {
			k := slices.IndexFunc(row.Peers, func(p Peer) bool { return p.Who == who })
			if k < 0 {
				cells = append(cells, "", "")
				continue
			}
			cells = append(cells, us(row.Peers[k].Time.Median), fmt.Sprintf("%.2f", row.Peers[k].Time.Median/t.Median))
		}
		text += line(cells...)
	}
	_, err := io.WriteString(out, text)
	return err
}
