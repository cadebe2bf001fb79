package batching

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is which of several programs this is, and who says so.
type Place struct {
	Index, Count int
	From         string // the arguments, or names of variables
}

// launchers are the variables by which launchers tell a program its place, in the order in which they are asked. A launcher within another sets both,
// and they must agree.
var launchers = []struct{ name, index, count string }{
	{"RoboCache", "ROBOCACHE_RANK", "ROBOCACHE_WORLD"},
	{"torchrun", "RANK", "WORLD_SIZE"},
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"srun", "SLURM_PROCID", "SLURM_NTASKS"},
	{"SkyPilot", "SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES"},
}

// CompletionIndex is the variable by which Kubernetes tells a pod of an Indexed Job its number. It does not say of how many.
const CompletionIndex = "JOB_COMPLETION_INDEX"

// PlaceOf returns this program's place: of --rank and --world if both are given, which are nil if not, else of RoboCache's own variables, else of the
// first launcher's that are set. One flag alone must agree with them. Where --world or ROBOCACHE_WORLD says the number and nobody the rank, it is
// Kubernetes' index. Launchers that disagree are an error; a world of one, such as a shell within an allocation has, gives way to a larger one.
func PlaceOf(rank, world *int, getenv func(string) string, spell Spelling) (Place, error) {
	ranks, worlds := spell.of("rank"), spell.of("world")
	if rank != nil && world != nil {
		return Place{*rank, *world, ranks + " and " + worlds}, nil
	}
	p, err := launchedAs(rank, world, getenv, spell)
	switch {
	case err != nil:
		return Place{}, err
	case world != nil && p.Count == 1 && getenv(CompletionIndex) != "":
		p.Index, err = Variable(getenv, CompletionIndex)
		if err == nil && p.Index >= *world {
			return Place{}, refusef(CompletionIndex, fmt.Sprintf("less than %s, %d", worlds, *world), "%d", p.Index)
		}
		return Place{p.Index, *world, CompletionIndex + " and " + worlds}, err
	case world != nil && p.Count == 1 && *world > 1:
		return Place{}, refusef("world", "both, or a launcher that says the rank", "%d without %s", *world, ranks)
	case rank != nil && p.From == "":
		return Place{}, refusef("rank", "both, or a launcher that says how many ranks there are", "%d without %s", *rank, worlds)
	case world != nil && p.Count == 1: // which is alone, or no number
		return Place{0, *world, ""}, nil
	case world != nil && *world != p.Count:
		return Place{}, refusef("world", "the same, or "+ranks+" too", "%d, where %s say rank %d of %d", *world, p.From, p.Index, p.Count)
	case rank != nil && *rank != p.Index:
		return Place{}, refusef("rank", "the same, or "+worlds+" too", "%d, where %s say rank %d of %d", *rank, p.From, p.Index, p.Count)
	}
	return p, nil
}

// Check returns an *OptionError unless the index is one of the count.
func (p Place) Check(spell Spelling) error {
	if p.Count >= 1 && p.Index >= 0 && p.Index < p.Count {
		return nil
	}
	return refusef("rank", fmt.Sprintf("a rank from 0 to %d", max(p.Count, 1)-1), "%d of %s %d", p.Index, spell.of("world"), p.Count)
}

// launchedAs returns the place that launchers say. Of a number that one does not say the flag is taken, unless that is nil.
func launchedAs(rank, world *int, getenv func(string) string, spell Spelling) (Place, error) {
	ranks, worlds := spell.of("rank"), spell.of("world")
	found := Place{0, 1, ""}
	for _, l := range launchers {
		index, i, n := l.index, getenv(l.index), getenv(l.count)
		if i == "" && n == "" || l.name == "srun" && n == "" { // a batch script is process 0, and may not say of how many
			continue
		}
		p := Place{}
		var errs [2]error
		switch {
		case i != "":
			p.Index, errs[0] = strconv.Atoi(strings.TrimSpace(i))
		case rank != nil:
			index, p.Index = ranks, *rank
		case l.name == "RoboCache":
			index, i = CompletionIndex, getenv(CompletionIndex)
			p.Index, errs[0] = strconv.Atoi(strings.TrimSpace(i))
		default:
			errs[0] = strconv.ErrSyntax
		}
		p.Count, errs[1] = strconv.Atoi(strings.TrimSpace(n))
		p.From = index + " and " + l.count
		if n == "" && world != nil {
			p.Count, p.From, errs[1] = *world, index+" and "+worlds, nil
		}
		switch {
		case errs[0] != nil || errs[1] != nil || p.Count < 1 || p.Index < 0 || p.Index >= p.Count:
			return Place{}, refusef(index+" and "+l.count, fmt.Sprintf("a rank of a number of ranks, or %s and %s", ranks, worlds), "%q of %q", i, n)
		case l.name == "RoboCache":
			return p, nil
		case found.Count == 1:
			found = p
		case p.Count > 1 && (p.Index != found.Index || p.Count != found.Count):
			return Place{}, refusef(found.From, ranks+" and "+worlds, "rank %d of %d, where %s say rank %d of %d", found.Index, found.Count, p.From, p.Index, p.Count)
		}
	}
	return found, nil
}

// String says what was found; nothing of a program that is alone.
func (p Place) String() string {
	if p.Count == 1 {
		return ""
	}
	return fmt.Sprintf("rank %d of %d, by %s", p.Index, p.Count, p.From)
}

// Variable is a number that a variable has.
func Variable(getenv func(string) string, name string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(getenv(name)))
	if err != nil || n < 0 {
		return 0, refusef(name, "a whole number", "%q", getenv(name))
	}
	return n, nil
}
