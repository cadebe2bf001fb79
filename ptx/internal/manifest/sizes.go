package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The size table is between these lines.
const (
	sizesBegin = "<!-- sizes -->\n"
	sizesEnd   = "<!-- end of sizes -->\n"
)

// cost holds the embedded bytes that a family adds to a program; 0 for a missing image.
type cost struct {
	family  string
	entries int
	bytes   [3]int // the cubin, the PTX for sm_90, and the PTX for sm_80
}

func costsOf(dir string, families []family) ([]cost, error) {
	var list []cost
	total := cost{family: "together"}
	for _, f := range families {
		c := cost{family: f.name, entries: len(f.entries)}
		for _, im := range f.images {
			info, err := os.Stat(filepath.Join(dir, im.stored.name))
			if err != nil {
				return nil, err
			}
			i := 0
			switch {
			case im.kind == "PTX" && im.sm == shipped[0].sm:
				i = 1
			case im.kind == "PTX":
				i = 2
			}
			c.bytes[i] += int(info.Size())
			total.bytes[i] += int(info.Size())
		}
		total.entries += c.entries
		list = append(list, c)
	}
	return append(list, total), nil
}

// renderCosts formats the table in kB (1000 bytes).
func renderCosts(costs []cost) string {
	var b strings.Builder
	b.WriteString("| family | kernels | cubin | PTX for sm_90 | PTX for sm_80 | together |\n|---|---:|---:|---:|---:|---:|\n")
	for _, c := range costs {
		sum := 0
		fmt.Fprintf(&b, "| %s | %d |", c.family, c.entries)
		for _, n := range c.bytes {
			fmt.Fprintf(&b, " %d |", kilo(n))
			sum += n
		}
		fmt.Fprintf(&b, " %d |\n", kilo(sum))
	}
	return b.String()
}

func kilo(n int) int { return (n + 500) / 1000 }

// updateSizes updates the table in a file. It ignores changes below a tenth or 2 kB, because most builds change a little. If check is
// set, a needed update is an error.
func updateSizes(dir, file string, check bool) error {
	all, err := readFolder(dir)
	if err != nil {
		return err
	}
	costs, err := costsOf(dir, all.families)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(sizesBegin))
	table, after, ends := bytes.Cut(rest, []byte(sizesEnd))
	if !found || !ends {
		return fmt.Errorf("%s has no lines %q and %q for the table of sizes", file, strings.TrimSpace(sizesBegin), strings.TrimSpace(sizesEnd))
	}
	want := renderCosts(costs)
	switch why := differs(string(table), want); {
	case why == "":
		return nil
	case check:
		return fmt.Errorf("%s is out of date: %s. -sizes %s writes it", file, why, file)
	}
	return os.WriteFile(file, []byte(string(before)+sizesBegin+want+sizesEnd+string(after)), 0o644)
}

// differs returns a description of the first line with a relevant difference, or "".
func differs(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if len(g) != len(w) {
		return fmt.Sprintf("it has %d lines, not %d", len(g), len(w))
	}
	for i := range w {
		a, b := strings.Split(g[i], "|"), strings.Split(w[i], "|")
		bad := len(a) != len(b)
		for k := 0; k < len(b) && !bad; k++ {
			m, errA := strconv.Atoi(strings.TrimSpace(a[k]))
			n, errB := strconv.Atoi(strings.TrimSpace(b[k]))
			if errA != nil || errB != nil || k == 2 { // words and kernel counts
				bad = a[k] != b[k]
			} else {
				bad = math.Abs(float64(m-n)) > max(2, float64(n)/10)
			}
		}
		if bad {
			return fmt.Sprintf("it says %q, the files say %q", g[i], w[i])
		}
	}
	return ""
}
