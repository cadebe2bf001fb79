package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// place is which of several programs this is, and who says so.
type place struct {
	index, count int
	from         string // "--rank and --world", or names of variables
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

// completionIndex is the variable by which Kubernetes tells a pod of an Indexed Job its number. It does not say of how many.
const completionIndex = "JOB_COMPLETION_INDEX"

// placeOf returns this program's place: of --rank and --world if both are given, which are nil if not, else of RoboCache's own variables, else of the
// first launcher's that are set. One flag alone must agree with them. Where --world or ROBOCACHE_WORLD says the number and nobody the rank, it is
// Kubernetes' index. Launchers that disagree are an error; a world of one, such as a shell within an allocation has, gives way to a larger one.
func placeOf(rank, world *int, getenv func(string) string) (place, error) {
	if rank != nil && world != nil {
		return place{*rank, *world, "--rank and --world"}, nil
	}
	p, err := launchedAs(rank, world, getenv)
	switch {
	case err != nil:
		return place{}, err
	case world != nil && p.count == 1 && getenv(completionIndex) != "":
		p.index, err = variable(getenv, completionIndex)
		if err == nil && p.index >= *world {
			err = usagef("%s: got %d, want less than --world, %d", completionIndex, p.index, *world)
		}
		return place{p.index, *world, completionIndex + " and --world"}, err
	case world != nil && p.count == 1 && *world > 1:
		return place{}, usagef("--world: got %d without --rank, want both, or a launcher that says the rank", *world)
	case rank != nil && p.from == "":
		return place{}, usagef("--rank: got %d without --world, want both, or a launcher that says how many ranks there are", *rank)
	case world != nil && p.count == 1: // which is alone, or no number
		return place{0, *world, ""}, nil
	case world != nil && *world != p.count:
		return place{}, usagef("--world: got %d, where %s say rank %d of %d, want the same, or --rank too", *world, p.from, p.index, p.count)
	case rank != nil && *rank != p.index:
		return place{}, usagef("--rank: got %d, where %s say rank %d of %d, want the same, or --world too", *rank, p.from, p.index, p.count)
	}
	return p, nil
}

// launchedAs returns the place that launchers say. Of a number that one does not say the flag is taken, unless that is nil.
func launchedAs(rank, world *int, getenv func(string) string) (place, error) {
	found := place{0, 1, ""}
	for _, l := range launchers {
		index, i, n := l.index, getenv(l.index), getenv(l.count)
		if i == "" && n == "" || l.name == "srun" && n == "" { // a batch script is process 0, and may not say of how many
			continue
		}
		p := place{}
		var errs [2]error
		switch {
		case i != "":
			p.index, errs[0] = strconv.Atoi(strings.TrimSpace(i))
		case rank != nil:
			index, p.index = "--rank", *rank
		case l.name == "RoboCache":
			index, i = completionIndex, getenv(completionIndex)
			p.index, errs[0] = strconv.Atoi(strings.TrimSpace(i))
		default:
			errs[0] = strconv.ErrSyntax
		}
		p.count, errs[1] = strconv.Atoi(strings.TrimSpace(n))
		p.from = index + " and " + l.count
		if n == "" && world != nil {
			p.count, p.from, errs[1] = *world, index+" and --world", nil
		}
		switch {
		case errs[0] != nil || errs[1] != nil || p.count < 1 || p.index < 0 || p.index >= p.count:
			return place{}, usagef("%s and %s: got %q of %q, want a rank of a number of ranks, or --rank and --world", index, l.count, i, n)
		case l.name == "RoboCache":
			return p, nil
		case found.count == 1:
			found = p
		case p.count > 1 && (p.index != found.index || p.count != found.count):
			return place{}, usagef("%s say rank %d of %d, %s %d of %d, want --rank and --world", found.from, found.index, found.count, p.from, p.index, p.count)
		}
	}
	return found, nil
}

// String says what was found; nothing of a program that is alone.
func (p place) String() string {
	if p.count == 1 {
		return ""
	}
	return fmt.Sprintf("rank %d of %d, by %s", p.index, p.count, p.from)
}

// ranked fills in the rank of a command from its flags, of which some are given, and the environment, and says who said so.
func (a *app) ranked(rank, world *int, given func(flag string) bool) error {
	flags := [2]*int{rank, world}
	for i, name := range []string{"rank", "world"} {
		if !given(name) {
			flags[i] = nil
		}
	}
	p, err := placeOf(flags[0], flags[1], os.Getenv)
	if err != nil {
		return err
	}
	*rank, *world = p.index, p.count
	if text := p.String(); text != "" && (flags[0] == nil || flags[1] == nil) {
		a.remark("%s", text)
	}
	return nil
}
