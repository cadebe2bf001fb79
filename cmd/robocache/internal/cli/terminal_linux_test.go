package cli

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal returns both ends of a terminal with 80 columns.
func terminal(t *testing.T) (user, program *os.File) {
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { user.Close() })
	fd := int(user.Fd())
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { program.Close() })
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	return user, program
}

func TestATerminalHasAWidthColoursAndALineOfProgress(t *testing.T) {
	for _, name := range []string{"COLUMNS", "NO_COLOR"} {
		t.Setenv(name, "")
	}
	t.Setenv("TERM", "xterm")
	user, program := terminal(t)
	read := func(end string) (text string) { // a terminal may give an output in several parts
		for b := make([]byte, 4096); !strings.HasSuffix(text, end); {
			n, err := user.Read(b)
			require.NoError(t, err)
			text += string(b[:n])
		}
		return text
	}
	a := New(nil, program, program)
	width := func() int { return a.Out.(*printer).Width() }
	assert.Equal(t, 80, width())
	t.Setenv("COLUMNS", "100")
	assert.Equal(t, 100, width())
	t.Setenv("COLUMNS", "")
	a.Wide = true
	assert.Equal(t, 0, width())

	require.NoError(t, a.Coloured(Red, "error"))
	assert.Equal(t, "\x1b[31merror\x1b[0m", read("[0m"))
	t.Setenv("NO_COLOR", "1")
	require.NoError(t, a.Coloured(Red, "error"))
	assert.Equal(t, "error", read("error"))
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	require.NoError(t, a.Coloured(Red, "error"))
	assert.Equal(t, "error", read("error"))

	a.Wide = false
	names := strings.TrimSuffix(strings.Repeat("name, ", 12), ", ")
	a.Remark("the streams are %s", names)
	assert.Equal(t, "robocache: the streams are "+names[:53]+"\r\n  "+names[54:]+"\r\n", read(names[54:]+"\r\n"), "a line is broken at words")

	bar := a.Rating("converting "+strings.Repeat("a long name, ", 10), 100, "episodes")
	bar.Add(50)
	line := read("\x1b[K")
	assert.Regexp(t, `^\rconverting a long name, .*\.\.\.\x1b\[K$`, line)
	assert.Len(t, strings.TrimSuffix(line[1:], "\x1b[K"), 79, "the last column would wrap on some terminals")
	fmt.Fprintln(a.Out, "done")
	assert.Equal(t, "\r\x1b[Kdone\r\n", read("\n"), "other output takes the line away")
	bar.Done()
	assert.Equal(t, "training: 30 of 90, 15 steps a second, 4s left", func() string {
		p := &progress{what: "training", unit: "steps", of: 90}
		p.done.Store(30)
		return p.line(2 * time.Second)
	}())

	var pipe bytes.Buffer
	b := New(nil, &pipe, &pipe)
	t.Setenv("TERM", "xterm")
	t.Setenv("COLUMNS", "80")
	require.NoError(t, b.Coloured(Red, "error"))
	assert.Equal(t, "error", pipe.String())
	assert.Equal(t, 0, b.Out.(*printer).Width(), "what is no terminal has no limit")
	assert.Equal(t, Bar{}, b.Counting("reading", 5))
}
