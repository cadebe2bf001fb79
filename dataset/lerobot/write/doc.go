// Package write writes LeRobot datasets, versions 3.0 and 2.1. Package lerobot reads them.
//
//	w, err := write.Create("pick_place", write.Options{FPS: 30})
//	defer w.Close()
//	err = w.Add(ctx, episode) // once for each episode
//	err = w.Commit(ctx)       // the dataset appears
//
// A [Writer] adds episodes to a temporary folder next to the dataset's path, and Commit renames the folder. Each episode is planned
// first: its streams become columns on one clock, images are read and videos are encoded. So an episode that cannot be written is
// refused as a whole and does no harm. Then its rows become a row group in data/, its videos are appended to the video files, and
// its statistics become a row in meta/episodes. In version 2.1 each episode has its own files instead, and a line in
// meta/episodes.jsonl and meta/episodes_stats.jsonl.
//
// Memory is bounded by one episode. Calls block while they read, encode and write.
package write
