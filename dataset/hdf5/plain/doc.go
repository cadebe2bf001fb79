// Package plain reads HDF5 files in layouts that no other package knows, as far as they are series: its format is "hdf5".
//
// A file is one episode, or its episodes are groups at any depth: groups whose names differ only in numbers, such as traj_0 and traj_1, or at least two
// that each hold actions, observations, rewards or dones. Arms, cameras, sensors and objects are parts of an episode, although they are alike. Lists
// of episodes in a group mask are splits. What lies beside the episodes is named by the dataset's attribute "other objects".
//
// Streams, cameras, clocks and rates are those of package h5episode: timestamps beside data are its clock, an attribute such as fps is its rate, beside
// T actions what has T+1 rows is a stream. Everything else is left out by name, with the reason.
package plain
