package main

import (
	"slices"
	"strings"

	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset/lerobot/write"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// leRobotFlags are the convert flags for LeRobot datasets alone.
type leRobotFlags struct {
	opt   convert.LeRobotOptions
	names []string // FROM=TO
}

// leRobotOnly are their names.
var leRobotOnly = []string{"state", "action", "name", "robot", "cameras", "codec", "extra", "modality"}

func (l *leRobotFlags) add(f *pflag.FlagSet) {
	f.StringSliceVar(&l.opt.State, "state", nil, "lerobot: the streams for observation.state, side by side in this order")
	f.StringSliceVar(&l.opt.Action, "action", nil, "lerobot: the streams for action, side by side")
	f.StringArrayVar(&l.names, "name", nil, "lerobot: `FROM=TO` gives a stream or camera another name; repeatable")
	f.StringVar(&l.opt.RobotType, "robot", "", "lerobot: the robot's name")
	f.StringVar(&l.opt.Cameras, "cameras", convert.Cameras[0], "lerobot: camera format, video or image; auto keeps png and jpeg that need no plan")
	f.StringVar(&l.opt.Extra, "extra", convert.Extras[0], "lerobot: streams that only later episodes have: error, drop them, or skip these episodes")
	f.BoolVar(&l.opt.Modality, "modality", false, "lerobot: write meta/modality.json, which GR00T reads")
	f.StringVar(&l.opt.Codec, "codec", "av1", "lerobot: the `CODEC` for videos that are encoded: "+strings.Join(write.Codecs(), ", "))
}

// complete registers completions for the flags' values.
func (l *leRobotFlags) complete(cmd *cobra.Command) {
	complete(cmd, "cameras", func() []string { return convert.Cameras })
	complete(cmd, "codec", write.Codecs)
	complete(cmd, "extra", func() []string { return convert.Extras })
}

// check returns a usage error if the flags are for another format, and parses the names.
func (l *leRobotFlags) check(to string, given func(string) bool) error {
	if k := slices.IndexFunc(leRobotOnly, given); k >= 0 && !isLeRobot(to) {
		return usagef("--%s is for LeRobot datasets, got --to %s, want --to lerobot", leRobotOnly[k], to)
	}
	l.opt.Names = map[string]string{}
	for _, text := range l.names {
		from, to, ok := strings.Cut(text, "=")
		if !ok || from == "" || to == "" {
			return usagef("--name: got %q, want FROM=TO", text)
		}
		if _, twice := l.opt.Names[from]; twice {
			return usagef("--name: got %s twice, want each stream once", from)
		}
		l.opt.Names[from] = to
	}
	return nil
}

// isLeRobot reports whether a format is a version of LeRobot's.
func isLeRobot(to string) bool { return strings.HasPrefix(to, "lerobot") }

// target returns a function that makes the target for a version.
func (l *leRobotFlags) target(version string) func() (convert.Target, error) {
	return func() (convert.Target, error) {
		opt := l.opt
		opt.Version = version
		return convert.LeRobot(opt)
	}
}
