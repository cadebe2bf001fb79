// Package lerobot reads LeRobot datasets, versions 2.0, 2.1 and 3.0: a folder with meta/info.json, Parquet tables, and mp4 videos.
//
//	d, err := lerobot.Open(ctx, "pusht", lerobot.Options{})
//	e, err := d.Episode(ctx, 0) // e.Stream("observation.state"), e.MediaStream("observation.images.top")
//
// Every numeric feature is a stream [T,D] with its name in the dataset, "observation.state", and the column names in info.json. A
// feature with several dimensions is flattened; its columns are named by their indices, "[0][2]", unless it has a name for each.
// Values are cast to the type that info.json declares, as LeRobot does, and Notes counts the values that change. If a declared
// whole-number type cannot hold all values, it is ignored. Values are f32 if it holds the type, else f64. Null values are NaN and
// counted.
//
// The columns timestamp, frame_index, episode_index, index and task_index are no streams: they provide the clock and the task, and
// are checked. If the task changes within an episode, task_index is a stream too, with indices into Info.Tasks. A text that is
// equal in all rows is an attribute. A text that changes has a line for each change, for example "7: lift the cup" from row 7 on.
// Other columns are left out with a note. With Options.Lists, the language columns are Episode.Lists, which package write takes.
//
// LeRobot writes timestamps as frame_index/fps in float32. The clock is therefore round(frame_index*1e9/fps) ns, which is exact. If
// an episode's timestamps differ from this by more than 0.1 ms, LeRobot's own tolerance, and by more than float32 rounding, they
// are the clock, and Notes has a remark. If only the first timestamp differs and the steps agree within the tolerance, the clock is
// frame_index/fps from the first timestamp on, because LeRobot pairs rows by number. Options.Clock selects "frame_index" or
// "timestamp" for all episodes, or the column capture_time if it exists: nanoseconds that a Writer keeps from a recording, with
// capture_time.<camera> for a camera's frames. Without frame_index the rows are counted.
//
// The episodes are found in the data. In version 2 an episode is the file with its number. In version 3 it is the rows with its
// episode_index, in any place, and meta/episodes is only compared with them. LeRobot itself uses positions, so a missing row shifts
// every later episode there. Declarations that contradict the data are in Info.Notes. If a data file cannot be read, for example
// because a killed recorder left no footer, its episodes exist, and reading one returns the file's error.
//
// Videos and images are media, and their frames are read when needed. Their Times are the row times, because LeRobot pairs frames
// with rows. A row's frame is the one with the nearest time in the video, counted from the episode's start, if it is within half a
// frame period. Notes counts frames more than 0.1 ms from their rows, rows without a frame, and frames without a row. If the
// video's times do not match the rows, or have drifted so far that an episode would begin with another episode's frame, frame n
// belongs to row n instead, and Notes reports it. Damage in a video is reported by the episodes that lose frames. An image without
// bytes is read from its path in the dataset.
//
// With Options.VideoBackend a row has the frame that LeRobotDataset returns with that video_backend, and no other rule applies. The row's
// timestamp, as float32, plus the episode's from_timestamp is a time in the video. "pyav" takes the frame with the nearest time.
// "torchcodec" takes number round(time * rate), to even, where rate is mp4.Track.BaseRate, or else fps in info.json: the first frame at or
// after the time that the number has at the rate. If the frame is more than Options.Tolerance from the time, or does not exist,
// LeRobotDataset raises an error; here the row has no frame, and Notes counts it. A frame may belong to two rows, or to another episode.
// One case differs: with torchcodec, LeRobotDataset also returns the frame of another target in the same window if only that is near
// enough.
//
// Supported: Parquet as listed in package internal/parquet; videos with h264, hevc, av1, vp9, vp8 and mpeg4 in mp4; JPEG and PNG
// images. Depth maps with more than 8 bits and TIFF are returned encoded and not decoded. Not
// supported: storage formats other than Parquet, such as Lance.
//
// The slices that GR00T names in meta/modality.json are attributes of the dataset: "modality.state.left_arm" is
// "observation.state[0:7]".
//
// A dataset takes some hundred bytes of memory per episode. Reading an episode takes memory in proportion to its rows, because
// other rows in the file are decoded one page at a time. At most four data files and sixteen videos are open.
package lerobot
