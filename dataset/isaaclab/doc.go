// Package isaaclab reads demonstrations in the HDF5 layout of Isaac Lab: a group data with a group demo_N for each episode, like
// robomimic, and with the simulation's states in nested groups.
//
//	d, err := isaaclab.Open("dataset.hdf5", dataset.Options{})
//	e, err := d.Episode(ctx, 0) // e.Stream("actions"), e.Stream("states/articulation/robot/joint_position")
//
// A file is Isaac Lab's instead of robomimic's if a demonstration has a group initial_state or a group states, or if env_args
// contains sim_args. Every numeric dataset [T] or [T,D] in an episode is a stream with its name in the file: "actions",
// "obs/eef_pos", "states/articulation/robot/joint_position". Images are media. initial_state is one row from before the first step,
// so it is left out with a note, and so is data with another length than actions. The dataset's attribute "other objects" names
// objects outside the demonstrations.
//
// The attribute success is Attributes.Success. If timestamps are stored next to the data, they are the clock. Otherwise the rate is
// Options.Rate, or else 1/(dt*decimation) from sim_args in env_args. Without a rate the timestamps count steps of one second.
package isaaclab
