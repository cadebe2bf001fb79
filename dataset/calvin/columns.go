package calvin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

var (
	pose    = parts("tcp_pos", "x", "y", "z", "tcp_euler", "x", "y", "z")
	actions = append(slices.Clip(pose), "gripper_action")
)

// known are the columns of CALVIN's own arrays, as its documents describe them.
var known = map[string][]string{
	"actions": actions, "rel_actions": actions, "rel_actions_world": actions, "rel_actions_gripper": actions,
	"robot_obs": slices.Concat(pose, []string{"gripper_opening_width"}, parts("arm_joint", "0", "1", "2", "3", "4", "5", "6"), []string{"gripper_action"}),
	"scene_obs": slices.Concat([]string{"sliding_door", "drawer", "button", "switch", "lightbulb", "green_light"}, block("red"), block("blue"), block("pink")),
}

func block(colour string) []string {
	return parts(colour+"_block_pos", "x", "y", "z", colour+"_block_euler", "x", "y", "z")
}

// parts joins names of one or two letters to the longer name before them: "tcp_pos.x".
func parts(words ...string) (list []string) {
	of := ""
	for _, w := range words {
		if len(w) > 2 {
			of = w
			continue
		}
		list = append(list, of+"."+w)
	}
	return list
}

// columnsOf returns the columns of an array with width numbers: CALVIN's names, or else the indices.
func columnsOf(array string, width int, typ string, whole bool) []dataset.Column {
	names := known[array]
	columns := make([]dataset.Column, width)
	for i := range columns {
		columns[i] = dataset.Column{Name: fmt.Sprint(i), Type: typ, Integer: whole}
		if len(names) == width {
			columns[i].Name = names[i]
		}
	}
	return columns
}

// isImage recognises image arrays by their names.
func isImage(array string) bool {
	return strings.HasPrefix(array, "rgb_") || strings.HasPrefix(array, "depth_")
}
