package ops

import "fmt"

// LaunchMode says when a plan's work on a GPU may begin beside what its stream was given before. It changes no result as long
// as its promise is kept, and makes no difference where work runs one after the other: on the CPU, on the simulated device, on
// GPUs before sm_90, with drivers that lack the call, and for kernels that do not know how to wait. Package ops/cuda's Explain says
// how a plan is launched. In a captured graph the mode is kept, as an edge between two kernels that lets the second begin early; the
// first work of a graph begins when all before the graph is done.
//
// The mode is of the work that waits, not of the work that is waited for: what is given to the stream after an operation needs no
// mode of its own to find its results there.
type LaunchMode uint8

const (
	// LaunchPlain begins when all before it on the stream is done.
	LaunchDefault LaunchMode = iota
	// LaunchDependent is made ready while the operation before it still runs, and touches memory when all before it on the stream is
	// done. It promises nothing and is always right: operations may read what the one before wrote. (A program's own kernels that
	// are launched so on the stream must wait too: rule 7 of package cudadrv.)
	LaunchDependent
	// LaunchInputsReady touches memory as soon as the operation before it leaves room. It is for operations on one stream that do not
	// depend on each other. For every Run, and for every launch of a graph that holds one, the caller promises of the work that the
	// stream was given before and that may still run: none of it writes a tensor that the operation reads (Src, SrcTimes, Targets,
	// lengths, offsets), and none of it reads or writes one that the operation writes (Dst, Valid, Age). Results are
	// unspecified where that does not hold.
	//
	// What may still run: the operation before, and if that was LaunchInputsReady too, also the one before that, and so on back to the
	// nearest that was not; no further than the beginning of a captured graph, or the last time that the stream was waited for. So the
	// second of two operations that both read what a third wrote before them may be LaunchInputsReady if the first is LaunchDependent.
	// An operation that has nothing to do, as of an empty batch, launches nothing and does not count.
	// Two runs of one plan write the same Dst, and so must not follow each other in this way.
	//
	// What comes after it needs no care: it ends when all before it has ended too. Faults in values are found and told as ever.
	LaunchInputsReady
	launchModes
)

var launchModeNames = [launchModes]string{"default", "dependent", "ready"}

// String returns the mode's name: plain, dependent or ready.
func (m LaunchMode) String() string {
	if m < launchModes {
		return launchModeNames[m]
	}
	return fmt.Sprintf("launch(%d)", uint8(m))
}

// ParseLaunchMode returns the mode of a name, as String writes it.
func ParseLaunchMode(name string) (LaunchMode, error) {
	return parse[LaunchMode]("launch mode", launchModeNames[:], name)
}

// checkLaunch checks the option.
func checkLaunch(c *checker, m LaunchMode) {
	if m >= launchModes {
		c.set("Options.Launch", ErrOption, m.String(), fmt.Sprintf("one of %v", launchModeNames))
	}
}
