// Package robomimic reads demonstrations in the HDF5 layout of robomimic, and the raw one of robosuite: a group data with a group demo_N for each
// episode.
//
// Of an episode every dataset of numbers [T] or [T,D] is a stream that is called as the file has it: "actions", "obs/eef_pos", "next_obs/eef_pos".
// Images [T,H,W,C] of bytes are media, raw pixels that are read a frame at a time; so are rows of JPEG or PNG. What is neither, or has another
// length than actions, is left out with the reason. What is beside the demonstrations is of no episode: the dataset's attribute "other objects" names
// it.
//
// Timestamps beside the data are its clock, and data of T+1 rows goes on until after the last of T actions. Otherwise the rate is control_freq of the
// file's env_args, or an attribute such as fps, else that of the caller; else the timestamps count steps, a second each. The splits are the file's filters (mask/NAME). The task is what ep_meta or, of the whole file, problem_info says in words. Rewards and dones
// are streams: they say nothing of success that holds for every task.
//
// A file without env_args is raw robosuite, and its format "robosuite".
package robomimic
