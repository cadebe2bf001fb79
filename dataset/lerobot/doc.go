// Package lerobot reads datasets of LeRobot, versions 2.0, 2.1 and 3.0: a folder with meta/info.json, tables in Parquet, and videos in mp4.
//
// Of an episode every feature of numbers is a stream [T,D] that is called as the dataset has it, "observation.state", with the names of
// info.json as columns. A feature of more than one dimension is flattened, and its columns are called by their indices, "[0][2]", unless
// it has a name for each. Values are cast to the type that info.json declares, as LeRobot does when it loads a table, and values that
// change are counted in Notes. A declared type of whole numbers that does not hold all values is not taken. Values are f32 where that
// holds the type, else f64; null values are NaN and counted. The columns timestamp, frame_index, episode_index, index and task_index are
// no streams: they give the clock and the task, and are checked. A task that changes within an episode makes a stream task_index as well,
// of places in Info.Tasks. A text that all rows share is an attribute; one that changes has a line for each change, "7: lift the cup"
// from row 7 on. Other columns are left out by name. With Options.Lists, the language columns are Episode.Lists, which package write takes.
//
// LeRobot writes the timestamps as frame_index/fps in float32. The clock is therefore round(frame_index*1e9/fps) ns, exact. An episode whose
// timestamps depart from that by more than 0.1 ms, LeRobot's own tolerance, and by more than float32 rounds, has them as its clock, and a remark in
// Notes says so. If each of their steps is that of frame_index/fps within this tolerance, LeRobot takes the rows by number, so the clock is
// frame_index/fps from the first timestamp on. Options.Clock chooses one of the two for all episodes, or the column capture_time where there is
// one: nanoseconds, which a Writer keeps of a recording, and capture_time.<camera> of a camera's frames. Without frame_index the rows are counted.
//
// Episodes are those that there is data of. In version 2 an episode is the file of its number; in version 3 it is the rows with its episode_index,
// wherever they lie, and meta/episodes is only compared with that. LeRobot itself goes by position: there a missing row shifts every episode behind
// it. What is declared and not there or not so is in Info.Notes. A data file that cannot be read, such as one that a killed recorder left without
// its footer, costs the episodes in it: they are there, and reading one gives the file's error.
//
// Videos and images are media, whose frames are read when they are asked for. Their Times are those of the rows, for that is how LeRobot pairs them.
// The frame of a row is found by its time in the file: the one nearest to the row's timestamp, counted from where the episode begins, if it is within
// half the time of a frame. Damage counts frames that are more than 0.1 ms from their rows, rows without a frame and frames without a row. Where the
// file's times are not the rows' at all, or have drifted so far that an episode begins with a frame of another, frames are counted instead, and Damage
// says that too. What is broken in a video is told by the episodes that lack frames of it. An image without bytes is read from its path within the
// dataset.
//
// Read: Parquet as package internal/parquet lists it; videos of h264, hevc, av1, vp9, vp8 and mpeg4 in mp4; images of JPEG and PNG.
// Pixels of more than 8 bits in videos and TIFF, which LeRobot writes for depth, are read as they are encoded and not decoded. Refused:
// storage formats other than Parquet, such as Lance.
//
// The slices that GR00T names in meta/modality.json are attributes of the dataset: "modality.state.left_arm" is "observation.state[0:7]".
//
// A dataset takes some hundred bytes of memory for each episode. Reading an episode takes memory in proportion to its rows: other rows of a file are
// decoded a page at a time. Four data files and sixteen videos are kept open at most.
package lerobot
