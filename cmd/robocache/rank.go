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

// placeOf returns this program's place: of the flags if one is given, else of RoboCache's own variables, else of the first launcher's that are set. Launchers
// that disagree are an error; a world of one, such as a shell within an allocation has, gives way to a larger one.
func placeOf(rank, world int, given bool, getenv func(string) string) (place, error) {
	if given {
		return place{rank, world, "--rank and --world"}, nil
	}
	found := place{0, 1, ""}
	for _, l := range launchers {
		i, n := getenv(l.index), getenv(l.count)
		if i == "" && n == "" || l.name == "srun" && n == "" { // a batch script is process 0, and may not say of how many
			continue
		}
		p := place{from: l.index + " and " + l.count}
		var errs [2]error
		p.index, errs[0] = strconv.Atoi(strings.TrimSpace(i))
		p.count, errs[1] = strconv.Atoi(strings.TrimSpace(n))
		switch {
		case errs[0] != nil || errs[1] != nil || p.count < 1 || p.index < 0 || p.index >= p.count:
			return place{}, usagef("%s: got %q of %q, want a rank of a number of ranks, or --rank and --world", p.from, i, n)
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

// ranked fills in the rank of a command from its flags or the environment, and says who said so.
func (a *app) ranked(rank, world *int, given bool) error {
	p, err := placeOf(*rank, *world, given, os.Getenv)
	if err != nil {
		return err
	}
	*rank, *world = p.index, p.count
	if text := p.String(); text != "" && !given {
		a.remark("%s", text)
	}
	return nil
}
