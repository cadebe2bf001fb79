package dataset

// Codes of ClassProblem: the dataset declares something that is missing or different. Subject is the file, episode or stream with
// the problem.
const (
	// CodeFileMissing: a declared file is missing. Subject is the file. Example: meta/tasks.jsonl in a LeRobot dataset.
	CodeFileMissing = problem + "file-missing"
	// CodeFilesMissing: Count files in a list of Of are missing. Names is the first. Example: 2 files in 3 that rgb.txt lists,
	// the first is rgb/b.png.
	CodeFilesMissing = problem + "files-missing"
	// CodeUnreadable: a file or object in the dataset cannot be read. Cause is the first error, Want the episodes that it
	// should contain. Example: a Parquet file with zero bytes.
	CodeUnreadable = problem + "unreadable"
	// CodeFileUnlisted: a file in the dataset's folder is not read, because the list Want lacks it. Example: run_2.mcap, which
	// metadata.yaml does not list.
	CodeFileUnlisted = problem + "file-unlisted"
	// CodeFileDoubtful: a file shows signs that it was not written to the end, and is read. Cause is the sign. Example: an
	// HDF5 file that its writer did not close.
	CodeFileDoubtful = problem + "file-doubtful"
	// CodeFolderUnread: a folder with no known format contains recordings, and they are not read. Names is the first. Example:
	// rgb/b.png in a folder next to recordings.
	CodeFolderUnread = problem + "folder-unread"
	// CodeRecordCount: a file has Count records, and the dataset declares Of. Example: 2 records where dataset_info.json
	// declares 3.
	CodeRecordCount = problem + "record-count"
	// CodeLabelCount: a file has Count class labels, and the dataset declares Of. Example: 2 labels where features.json
	// declares 3.
	CodeLabelCount = problem + "label-count"
	// CodeSplitMissing: every file of a split is missing. Example: a folder without train-*.tfrecord.
	CodeSplitMissing = problem + "split-missing"
	// CodeSplitNameMissing: a split names an episode, Got, that the file lacks. Example: demo_7 in mask/train of a file with
	// demo_0 to demo_5.
	CodeSplitNameMissing = problem + "split-name-missing"
	// CodeStepTotal: the declared number of steps, Want, differs from the sum over the episodes, Got. Example: total is 99,
	// and the demonstrations have 95 steps.
	CodeStepTotal = problem + "step-total"
	// CodeNoLineEnd: the last line has no line end. If the file was cut there, its last number may lack digits. Example:
	// "12.5,0.3" at the end of a CSV file.
	CodeNoLineEnd = problem + "no-line-end"
	// CodeStatisticsMissing: the dataset has no statistics. Subject is the file that should contain them. Example:
	// meta/stats.json.
	CodeStatisticsMissing = problem + "statistics-missing"
	// CodeLineUnreadable: lines in a list cannot be read. Cause is the first error. Example: invalid JSON in
	// meta/episodes.jsonl.
	CodeLineUnreadable = problem + "line-unreadable"
	// CodeColumnMissing: a table lacks columns. Names is the first. Example: length in meta/episodes.
	CodeColumnMissing = problem + "column-missing"
	// CodeNumberTwice: a list contains a task or episode number twice. Got is the first such number, Names is "task" or
	// "episode". Example: two lines with task_index 3.
	CodeNumberTwice = problem + "number-twice"
	// CodeRowNumber: a row in a list has another number than its position, which LeRobot uses in its place. Row is the first
	// such row, Got its number, Names is "task" or "episode". Example: row 1 with task_index 2.
	CodeRowNumber = problem + "row-number"
	// CodeTaskNumbers: the task numbers are not 0, 1, 2 and so on. Row is the first wrong position, Got its number. Example:
	// 0, 1, 5.
	CodeTaskNumbers = problem + "task-numbers"
	// CodeTasksUnindexed: the tasks are not the index of the pandas frame, so LeRobot uses row numbers as tasks. Example:
	// meta/tasks.parquet that was written with index=False.
	CodeTasksUnindexed = problem + "tasks-unindexed"
	// CodeTaskTotal: the declared number of tasks, Want, differs from the length of the list, Got. Example: total_tasks is 5,
	// and the list has 3.
	CodeTaskTotal = problem + "task-total"
	// CodeEpisodeTotal: the declared number of episodes, Want, differs from the data, Got. Example: total_episodes is 5, and
	// the data has 3.
	CodeEpisodeTotal = problem + "episode-total"
	// CodeFrameTotal: the declared number of frames, Want, differs from the data, Got. Unit is the unit of Got. Example:
	// total_frames is 9, and the data has 5 rows.
	CodeFrameTotal = problem + "frame-total"
	// CodeEpisodesAbsent: Count episodes in Of that the dataset declares are missing. Got is their number ranges if they are
	// known, Cause the reason for the first. Example: 3 episodes in 5, because one file is missing.
	CodeEpisodesAbsent = problem + "episodes-absent"
	// CodeEpisodeUnlisted: the data contains episodes that the list lacks. Row is the number of the first. Example: episode 3
	// in the data and not in meta/episodes.
	CodeEpisodeUnlisted = problem + "episode-unlisted"
	// CodeNoEpisodeListed: the list of episodes is empty, so the episodes are found in the data. Example: an empty
	// meta/episodes.jsonl.
	CodeNoEpisodeListed = problem + "no-episode-listed"
	// CodeEpisodeNumbers: Count episode numbers occur neither in the data nor in the list. Row is the first, Got their ranges.
	// Example: 5-7 in a dataset with 0-4 and 8-9.
	CodeEpisodeNumbers = problem + "episode-numbers"
	// CodeEpisodeLength: the list declares another episode length than the data has. Row is the first such episode, Got the
	// listed length, Want the length in the data. Example: 3 in the list and 2 rows.
	CodeEpisodeLength = problem + "episode-length"
	// CodeLengthCount: a file has Count episode lengths, and the file Want has Of episodes. Example: 1 length, and
	// ep_start_end_ids.npy has 2 episodes.
	CodeLengthCount = problem + "length-count"
	// CodeEpisodeRows: the list declares other rows for an episode than the data has. Row is the first such episode, Got the
	// listed rows, Want those in the data. Example: rows 6 to 7 in the list and 5 to 7 in the data.
	CodeEpisodeRows = problem + "episode-rows"
	// CodeEpisodeFile: the list declares another file for an episode than the data has. Row is the first such episode, Got the
	// listed file, Want the real one. Example: a.parquet in the list, and the rows are in b.parquet.
	CodeEpisodeFile = problem + "episode-file"
	// CodeFileElsewhere: an episode's file is not at the declared path. Row is the first such episode, Got the declared path,
	// Want the real one. Example: a/2.parquet is declared, and the file is b/2.parquet.
	CodeFileElsewhere = problem + "file-elsewhere"
	// CodeNumberInvalid: a list contains numbers that cannot be used. Row is the first such row, Got the number, Names its
	// column. Example: NaN in data/file_index.
	CodeNumberInvalid = problem + "number-invalid"
	// CodeEpisodeFileTwice: a file is not used, because another file already contains its episode, Row. Example: two files
	// with episode 2.
	CodeEpisodeFileTwice = problem + "episode-file-twice"
	// CodeEpisodeApart: the rows of an episode are not consecutive. Row is the first such episode, Got the dataset row where
	// it continues. Example: episode 2 in rows 3 to 4 and again from row 7.
	CodeEpisodeApart = problem + "episode-apart"
	// CodeRowGroupUnplaced: row groups in a file belong to unknown episodes. Cause is the first error. Example: episode_index
	// cannot be read in a row group.
	CodeRowGroupUnplaced = problem + "row-group-unplaced"
	// CodeColumnUnused: a column cannot be used, so the episode list takes its place. Cause is the error. Example:
	// episode_index with text.
	CodeColumnUnused = problem + "column-unused"
	// CodeIndexColumn: the column index does not count the rows, so LeRobot reads wrong rows. Names is the first file, Row its
	// row group, Got and Want are the numbers. Example: 7 to 8 where 3 to 4 is right.
	CodeIndexColumn = problem + "index-column"
	// CodeTimestampColumn: timestamps in row groups differ from frame_index/fps by more than 0.1 ms. Names is the first file,
	// Row its row group, Got and Want are the times. Example: 0 s to 3 s where 0 s to 2 s is right.
	CodeTimestampColumn = problem + "timestamp-column"
	// CodeFileColumns: files have other columns than the file Want. Names is the first. Example: b.parquet lacks a column that
	// a.parquet has.
	CodeFileColumns = problem + "file-columns"
	// CodeColumnIsVideo: a feature is declared as a video, and the table has a column for it with the type Got. Example:
	// float32.
	CodeColumnIsVideo = problem + "column-is-video"
	// CodeColumnNone: a feature has no column. Want is its declared type. Example: action as float32 in meta/info.json only.
	CodeColumnNone = problem + "column-none"
	// CodeColumnType: a column has the type Got, and its declaration is Want. Example: float32 in the table, float64 in
	// meta/info.json.
	CodeColumnType = problem + "column-type"
	// CodeColumnUndeclared: a column is not declared as a feature, so LeRobot refuses to load the table. Example: a column
	// debug.
	CodeColumnUndeclared = problem + "column-undeclared"
	// CodeFeatureUndeclared: features that the format requires or that another file names are not declared. Names is the
	// first. Example: timestamp.
	CodeFeatureUndeclared = problem + "feature-undeclared"
	// CodeDeclaration: a declaration cannot be used. Cause is the reason. Example: 1 column name for 2 values.
	CodeDeclaration = problem + "declaration"
	// CodeRateInvalid: the declared rate, Got, is not a frame rate. Example: fps 0.
	CodeRateInvalid = problem + "rate-invalid"
	// CodeSliceBeyond: a slice in meta/modality.json exceeds its feature. Names is the first slice, Got its range, Want the
	// number of columns. Example: observation.state[0:9] with 7 columns.
	CodeSliceBeyond = problem + "slice-beyond"
	// CodeVideoUnlocated: the list does not locate an episode's video. Row is the first such episode, Cause the reason.
	// Example: meta/episodes lacks the episode.
	CodeVideoUnlocated = problem + "video-unlocated"
	// CodeVideoOverlap: the videos for Count episodes begin before the previous one in the file ends. Got is the range of
	// those episodes, Row the first. Example: 1-2.
	CodeVideoOverlap = problem + "video-overlap"
	// CodeSplitRange: the range of a split, Got, cannot be used. Example: "8:7".
	CodeSplitRange = problem + "split-range"
	// CodeSplitEpisodes: Count episodes of a split with Of are missing. Example: a split 0:8 in a dataset with 2 episodes.
	CodeSplitEpisodes = problem + "split-episodes"
	// CodeColumnsDiffer: a stream has other columns, Got, in the episode that was read at Row than in the first episode with
	// the stream, Want. Example: 3 columns after 2.
	CodeColumnsDiffer = problem + "columns-differ"
	// CodeFrameRange: Count episodes have no valid frame range. Row is the first, Got its range. Example: from 5 to 3.
	CodeFrameRange = problem + "frame-range"
	// CodeFrameTwice: Count frames exist twice, with different numbers of leading zeros in their file names. Example:
	// episode_07.npz and episode_007.npz.
	CodeFrameTwice = problem + "frame-twice"
	// CodeFrameOutside: Count frames belong to no episode in the list. Example: frames after the last episode.
	CodeFrameOutside = problem + "frame-outside"
	// CodeAnnotationCounts: the annotation lists differ in length; entries with the same index belong together. Names are the
	// lengths. Example: 3 texts and 2 tasks.
	CodeAnnotationCounts = problem + "annotation-counts"
	// CodeAnnotationInvalid: Count annotations are left out, because their text exceeds Want bytes or their frame range is
	// invalid. Example: an annotation without frames.
	CodeAnnotationInvalid = problem + "annotation-invalid"
	// CodeAnnotationOutside: Count annotations are not inside one episode. Example: frames 90 to 110, and an episode ends at
	// 100.
	CodeAnnotationOutside = problem + "annotation-outside"
	// CodeSceneInvalid: Count scenes are left out, because they have no name or no frame range. Names is the first. Example:
	// lab without a range.
	CodeSceneInvalid = problem + "scene-invalid"
	// CodeItemsBeyond: the last Count items in a list are left out, because the limit is Want. Names is the list. Example: 3
	// scenes after the first 1000.
	CodeItemsBeyond = problem + "items-beyond"
	// CodeSeveralClocks: the streams have several clocks, and the format has one for all. Names are two streams that differ. Example:
	// an imu with 200 Hz and a camera with 30 Hz in a log.
	CodeSeveralClocks = problem + "several-clocks"
	// CodeNoRate: the times of an episode are not those of one rate, which the format needs. Cause is the first time that is not, or
	// the reason why there is no rate. Example: a table whose times scatter by 1 ms.
	CodeNoRate = problem + "no-rate"
	// CodeTaskMissing: the episode has no task, which Want needs. Example: a demonstration without an instruction, for openpi.
	CodeTaskMissing = problem + "task-missing"
	// CodeFeatureMissing: the dataset has no feature with the name Subject, which Want needs. Example: no action for openpi.
	CodeFeatureMissing = problem + "feature-missing"
	// CodeFormatVersion: the dataset has the version Got, and Names reads only Want. Example: v3.0, and openpi reads v2.
	CodeFormatVersion = problem + "format-version"
	// CodeRecorderDropouts: the recorder noted Count times that it lost data. Example: dropouts in a ULog file.
	CodeRecorderDropouts = problem + "recorder-dropouts"
)
