package batching

import (
	"fmt"
	"strconv"
	"strings"
)

// Place is the rank of this program among several programs.
type Place struct {
	Index, Count int
	From         string // the arguments or environment variables that set it
}

// launchers lists launchers (programs such as torchrun and srun that start the ranks) with their environment variables for a rank's index
// and the number of ranks, in the order in which they are read. If one launcher starts another, the variables of both are set and must
// agree.
var launchers = []struct{ name, index, count string }{
	{"RoboCache", "ROBOCACHE_RANK", "ROBOCACHE_WORLD"},
	{"torchrun", "RANK", "WORLD_SIZE"},
	{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
	{"srun", "SLURM_PROCID", "SLURM_NTASKS"},
	{"SkyPilot", "SKYPILOT_NODE_RANK", "SKYPILOT_NUM_NODES"},
}

// CompletionIndex is the variable with a pod's number in a Kubernetes Indexed Job. No variable has the pod count.
const CompletionIndex = "JOB_COMPLETION_INDEX"

// PlaceOf returns the place of this program. It takes --rank and --world if both are set; they are nil if not. Else it takes
// RoboCache's own variables, else those of the first launcher that sets any. A single flag must agree with the variables. If only the
// world is set, by --world or ROBOCACHE_WORLD, the rank is Kubernetes' index. Launchers that disagree are an error. But a world of one,
// for example in a shell within an allocation, gives way to a larger one.
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
		return Place{}, refusef("world", "both, or a launcher that sets the rank", "%d without %s", *world, ranks)
	case rank != nil && p.From == "":
		return Place{}, refusef("rank", "both, or a launcher that sets the number of ranks", "%d without %s", *rank, worlds)
	case world != nil && p.Count == 1: // a single program, or an invalid number
		return Place{0, *world, ""}, nil
	case world != nil && *world != p.Count:
		return Place{}, refusef("world", "the same, or "+ranks+" too", "%d, where %s set rank %d of %d", *world, p.From, p.Index, p.Count)
	case rank != nil && *rank != p.Index:
		return Place{}, refusef("rank", "the same, or "+worlds+" too", "%d, where %s set rank %d of %d", *rank, p.From, p.Index, p.Count)
	}
	return p, nil
}

// Check returns an *OptionError unless the index is less than the count.
func (p Place) Check(spell Spelling) error {
	if p.Count >= 1 && p.Index >= 0 && p.Index < p.Count {
		return nil
	}
	return refusef("rank", fmt.Sprintf("a rank from 0 to %d", max(p.Count, 1)-1), "%d of %s %d", p.Index, spell.of("world"), p.Count)
}

// launchedAs returns the place that the launchers' variables set; without any it is rank 0 of 1. If a launcher sets only one number, the
// other comes from its flag, unless the flag is nil. Invalid numbers and launchers that disagree are an *OptionError.
func launchedAs(rank, world *int, getenv func(string) string, spell Spelling) (Place, error) {
	ranks, worlds := spell.of("rank"), spell.of("world")
	found := Place{0, 1, ""}
	for _, l := range launchers {
		index, i, n := l.index, getenv(l.index), getenv(l.count)
		if i == "" && n == "" || l.name == "srun" && n == "" { // a batch script is process 0, and may lack the count
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
			return Place{}, refusef(index+" and "+l.count, fmt.Sprintf("a rank and a number of ranks, or %s and %s", ranks, worlds), "%q of %q", i, n)
		case l.name == "RoboCache":
			return p, nil
		case found.Count == 1:
			found = p
		case p.Count > 1 && (p.Index != found.Index || p.Count != found.Count):
			return Place{}, refusef(found.From, ranks+" and "+worlds, "rank %d of %d, where %s set rank %d of %d", found.Index, found.Count, p.From, p.Index, p.Count)
		}
	}
	return found, nil
}

// String returns a description of the place; empty for a single program.
func (p Place) String() string {
	if p.Count == 1 {
		return ""
	}
	return fmt.Sprintf("rank %d of %d, by %s", p.Index, p.Count, p.From)
}

// Variable returns the number in an environment variable, or an *OptionError unless it is a whole number from 0 on.
func Variable(getenv func(string) string, name string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(getenv(name)))
	if err != nil || n < 0 {
		return 0, refusef(name, "a whole number", "%q", getenv(name))
	}
	return n, nil
}
