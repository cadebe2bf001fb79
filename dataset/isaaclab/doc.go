// Package isaaclab reads demonstrations in the HDF5 layout of Isaac Lab: a group data with a group demo_N for each episode, as robomimic has it,
// with the simulation's states in groups of groups.
//
// A file is told from robomimic's by a demonstration that has a group initial_state, or states as a group, or by sim_args in env_args. Of an episode
// every dataset of numbers [T] or [T,D] is a stream that is called as the file has it: "actions", "obs/eef_pos",
// "states/articulation/robot/joint_position". Images are media. What initial_state holds is one row, of before the first step, and is left out by
// name; so is what has another length than actions. What is beside the demonstrations is named by the dataset's attribute "other objects".
//
// The attribute success of a demonstration is Attributes.Success. Timestamps beside the data are its clock. Otherwise the rate is
// 1/(dt*decimation) of sim_args in the file's env_args, else that of the caller; else the timestamps count steps, a second each.
package isaaclab
