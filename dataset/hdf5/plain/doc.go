// Package plain reads HDF5 files in layouts that no other package recognises. Its format name is "hdf5".
//
//	d, err := plain.Open("recordings.hdf5", dataset.Options{Rate: 20})
//	e, err := d.Episode(ctx, 0)
//
// A file is one episode, or groups at any depth are its episodes. Groups are episodes if their names differ only in numbers, such
// as traj_0 and traj_1, or if at least two groups contain actions, observations, rewards or dones. Arms, cameras, sensors and
// objects belong to an episode, although their groups look alike. Lists of episodes in a group mask are splits. The dataset's
// attribute "other objects" names objects outside the episodes.
//
// Package h5episode finds streams, cameras, clocks and rates: timestamps next to data are its clock, an attribute such as fps is
// its rate, and data with T+1 rows next to T actions is a stream. Everything else is left out with a note that has the reason.
package plain
