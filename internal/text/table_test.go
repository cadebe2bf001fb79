package text_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/text"
)

// screen is an output with a width.
type screen struct {
	bytes.Buffer
	width int
}

func (s *screen) Width() int { return s.width }

func TestATableFitsItsOutput(t *testing.T) {
	print := func(width int, flags uint, end string, leaving ...string) string {
		s := &screen{width: width}
		w := text.NewTable(s, flags, leaving...)
		fmt.Fprintf(w, "above\nstream\tsamples\trate\tvalid\tcolumns%s\n", end)
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s%s\n", "odometry", 1200, "100.0 Hz", "100.0 %", strings.Repeat("x, ", 20)+"x", end)
		require.NoError(t, w.Flush())
		for _, line := range strings.Split(s.String(), "\n") {
			if width > 0 && !strings.HasPrefix(line, "--wide") {
				assert.LessOrEqual(t, len(line), width, line)
			}
		}
		return s.String()
	}
	assert.Equal(t, print(0, 0, ""), print(200, 0, ""))
	assert.NotContains(t, print(0, 0, ""), "--wide")
	clipped := print(60, 0, "")
	assert.Contains(t, clipped, "stream    samples  rate      valid    columns\nodometry  1200     100.0 Hz  100.0 %  x, x, x, x, x, x, x...\n")
	assert.NotContains(t, clipped, "--wide")
	assert.Contains(t, print(40, 0, "", "rate"), "stream    samples  valid    columns\nodometry  1200     100.0 %  x, x, x, ...\n--wide also shows: rate\n")
	right := print(40, tabwriter.AlignRight, "\t")
	assert.Contains(t, right, "    stream  samples      rate    valid\n  odometry     1200  100.0 Hz  100.0 %\n--wide also shows: columns\n")
	assert.Contains(t, print(40, tabwriter.AlignRight, "", "columns"), "    stream  samples      rate    valid\n")
	assert.Contains(t, print(24, tabwriter.AlignRight, "\t", "valid", "rate"), "--wide also shows: rate, valid, columns\n")
}
