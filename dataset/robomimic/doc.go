// Package robomimic reads demonstrations in the HDF5 layout of robomimic and the raw layout of robosuite: a group data with a group
// demo_N for each episode.
//
//	d, err := robomimic.Open("low_dim_v15.hdf5", dataset.Options{})
//	e, err := d.Episode(ctx, 0) // e.Stream("actions"), e.Stream("obs/eef_pos")
//
// Every numeric dataset [T] or [T,D] in an episode is a stream with its name in the file: "actions", "obs/eef_pos",
// "next_obs/eef_pos". Images [T,H,W,C] in bytes are media with raw pixels, read one frame at a time. Byte rows with JPEG or PNG are
// media too. Other data, and data with another length than actions, is left out with the reason. The dataset's attribute "other
// objects" names objects outside the demonstrations.
//
// If timestamps are stored next to the data, they are the clock. Data with T+1 rows continues after the last of T actions.
// Otherwise the rate is Options.Rate, or else control_freq in the file's env_args or an attribute such as fps. Without a rate the
// timestamps count steps of one second. The splits are the file's filters (mask/NAME). The task is the text in ep_meta, or else in
// problem_info for the whole file. Rewards and dones are streams, because their relation to success differs between tasks.
//
// A file without env_args is raw robosuite, and its Format is "robosuite".
package robomimic
