package dataset

// Codes of ClassProblem: a dataset declares something that is missing or different. Subject is the file, episode or stream that is wrong.
const (
	// CodeFileMissing: a file that is declared is not there. Subject is the file.
	// Example: "is not there".
	CodeFileMissing = problem + "file-missing"
	// CodeFilesMissing: files that a list has are not there. Count of Of are missing, Names has the first.
	// Example: "2 of 3 files are not there, the first is rgb/b.png".
	CodeFilesMissing = problem + "files-missing"
	// CodeUnreadable: a file or object of a dataset cannot be read. Cause is the first error, Want the episodes that it should have.
	// Example: "cannot be read: ...".
	CodeUnreadable = problem + "unreadable"
	// CodeFileUnlisted: a file of the dataset's folder that no list has is not read. Want is the list.
	// Example: "is not listed, and not read".
	CodeFileUnlisted = problem + "file-unlisted"
	// CodeFileDoubtful: a file that is read shows signs of an incomplete write. Cause says which.
	// Example: "...".
	CodeFileDoubtful = problem + "file-doubtful"
	// CodeFolderUnread: a folder of no known format has recordings, which are not read. Names has them.
	// Example: "a folder of no format that has folders, with recordings in it that are not read: rgb/b.png".
	CodeFolderUnread = problem + "folder-unread"
	// CodeRecordCount: a file has Count records, and Of are declared.
	// Example: "got 2 records, want 3 as dataset_info.json says".
	CodeRecordCount = problem + "record-count"
	// CodeLabelCount: a file has Count names of class labels, and Of are declared.
	// Example: "got 2 names, want 3 as features.json says".
	CodeLabelCount = problem + "label-count"
	// CodeSplitMissing: none of the files of a split is there.
	// Example: "none of its files is there".
	CodeSplitMissing = problem + "split-missing"
	// CodeSplitNameMissing: a split names an episode that is not there. Got is the name.
	// Example: "names demo_7, which is not there".
	CodeSplitNameMissing = problem + "split-name-missing"
	// CodeStepTotal: the declared number of steps, Want, is not that of the episodes, Got.
	// Example: "total says 99 steps, and its demonstrations have demo_7".
	CodeStepTotal = problem + "step-total"
	// CodeNoLineEnd: the last line of a text has no line's end.
	// Example: "the last line has no line's end: if the file was cut there, digits of its last number may be missing".
	CodeNoLineEnd = problem + "no-line-end"
	// CodeStatisticsMissing: a dataset has no statistics. Subject is the file that should have them.
	// Example: "missing: there are no statistics".
	CodeStatisticsMissing = problem + "statistics-missing"
	// CodeLineUnreadable: lines of a list cannot be read. Cause is the first error.
	// Example: "lines that cannot be read: 2, the first: ...".
	CodeLineUnreadable = problem + "line-unreadable"
	// CodeColumnMissing: a table lacks columns. Names has the first.
	// Example: "columns that are missing: length".
	CodeColumnMissing = problem + "column-missing"
	// CodeNumberTwice: a list has numbers of tasks or episodes twice. Got is the first, Names has its kind.
	// Example: "task numbers that come twice: 3".
	CodeNumberTwice = problem + "number-twice"
	// CodeRowNumber: rows of a list are not those of their number. Row is the first, Got the number in it, Names has its kind.
	// Example: "rows that are not of the task of their number, which LeRobot takes them for: row 1 is of task 2".
	CodeRowNumber = problem + "row-number"
	// CodeTaskNumbers: the numbers of tasks are not 0, 1, 2, and so on. Row is the first that is not, Got its number.
	// Example: "numbers that are not 0, 1, 2, ...: task_index 5 is number 1 of the tasks".
	CodeTaskNumbers = problem + "task-numbers"
	// CodeTasksUnindexed: the tasks are not the index of a pandas frame.
	// Example: "the tasks are not the index of a pandas frame: LeRobot takes the row's number for the task".
	CodeTasksUnindexed = problem + "tasks-unindexed"
	// CodeTaskTotal: the declared number of tasks, Want, is not that of the list, Got.
	// Example: "total_tasks: 5, and the list has 3".
	CodeTaskTotal = problem + "task-total"
	// CodeEpisodeTotal: the declared number of episodes, Want, is not that of the data, Got.
	// Example: "total_episodes: 5, and there are 3".
	CodeEpisodeTotal = problem + "episode-total"
	// CodeFrameTotal: the declared number of frames, Want, is not that of the data, Got. Unit is what Got counts.
	// Example: "total_frames: 9, and there are 5 rows".
	CodeFrameTotal = problem + "frame-total"
	// CodeEpisodesAbsent: Count of Of declared episodes are not there. Got has the ranges of their numbers, if these are known, Cause is the reason of
	// the first.
	// Example: "3 of 5 declared episodes are not there: rgb-00001-of-00002: is not there".
	CodeEpisodesAbsent = problem + "episodes-absent"
	// CodeEpisodeUnlisted: the data has episodes that the list lacks. Row is the number of the first.
	// Example: "episodes that there is data of and that are not listed: 3".
	CodeEpisodeUnlisted = problem + "episode-unlisted"
	// CodeNoEpisodeListed: the list of episodes is empty.
	// Example: "lists no episode: they are those of the data".
	CodeNoEpisodeListed = problem + "no-episode-listed"
	// CodeEpisodeNumbers: Count numbers of episodes are neither in the data nor listed. Row is the first, Got has their ranges.
	// Example: "numbers of episodes that are neither there nor listed: 2, 5-7".
	CodeEpisodeNumbers = problem + "episode-numbers"
	// CodeEpisodeLength: the list has other lengths of episodes than the data. Row is the first episode, Got the listed length, Want that of the data.
	// Example: "lengths that are not those of the data: episode 2: 3, and there are 2 rows".
	CodeEpisodeLength = problem + "episode-length"
	// CodeLengthCount: a file has Count lengths, and the file Want has Of episodes.
	// Example: "1 lengths, and ep_start_end_ids.npy has 2 episodes".
	CodeLengthCount = problem + "length-count"
	// CodeEpisodeRows: the list has other rows of episodes than the data. Row is the first episode, Got and Want are the rows.
	// Example: "dataset_from_index and dataset_to_index that are not where the data is: episode 2: 6 to 7, and its rows are 5 to 7".
	CodeEpisodeRows = problem + "episode-rows"
	// CodeEpisodeFile: the list has other files of episodes than the data. Row is the first episode, Got the listed file, Want that of the data.
	// Example: "data files that are not where the data is: episode 2: a.parquet, and it is in b.parquet".
	CodeEpisodeFile = problem + "episode-file"
	// CodeEpisodeFileTwice: a file is not used, because another file has its episode, Row, already.
	// Example: "is left out: there is a file of episode 2 already".
	CodeEpisodeFileTwice = problem + "episode-file-twice"
	// CodeEpisodeApart: the rows of episodes lie apart. Row is the first episode, Got the row of the dataset at which it begins again.
	// Example: "episodes whose rows lie apart: 2, row 7 of the dataset".
	CodeEpisodeApart = problem + "episode-apart"
	// CodeRowGroupUnplaced: row groups of a file have no known episodes. Cause is the first error.
	// Example: "row groups of which nobody knows the episodes: ...".
	CodeRowGroupUnplaced = problem + "row-group-unplaced"
	// CodeColumnUnused: a column cannot be used, and the list of episodes takes its place. Cause is the error.
	// Example: "cannot be used: episodes are where meta/episodes says: ...".
	CodeColumnUnused = problem + "column-unused"
	// CodeIndexColumn: the column index does not count the rows. Names has the first file, Row is its row group, Got and Want are the numbers.
	// Example: "index does not count the rows, by which LeRobot finds an episode: a gap shifts every later one: a.parquet: row group 1 has 7 to 8, want 3 to 4".
	CodeIndexColumn = problem + "index-column"
	// CodeTimestampColumn: timestamps of row groups depart from frame_index/fps. Names has the first file, Row is its row group, Got and Want are the times.
	// Example: "row groups whose timestamps depart from frame_index/fps by more than 0.1 ms: a.parquet: 0 s to 3 s, want 0 s to 2 s".
	CodeTimestampColumn = problem + "timestamp-column"
	// CodeFileColumns: files have other columns than the file Want. Names has the first.
	// Example: "files whose columns are not those of a.parquet: b.parquet".
	CodeFileColumns = problem + "file-columns"
	// CodeColumnIsVideo: a feature is declared a video, and is a column of the type Got.
	// Example: "is declared a video, and is a column of float32".
	CodeColumnIsVideo = problem + "column-is-video"
	// CodeColumnNone: a feature, declared as Want, has no column.
	// Example: "has no column: it is declared as float32".
	CodeColumnNone = problem + "column-none"
	// CodeColumnType: a column has the type Got, and Want is declared.
	// Example: "has another type than declared: the column has float32, declared is float64".
	CodeColumnType = problem + "column-type"
	// CodeColumnUndeclared: a column is no declared feature.
	// Example: "is not declared: LeRobot does not load a table with such a column".
	CodeColumnUndeclared = problem + "column-undeclared"
	// CodeFeatureUndeclared: features that are expected or named are not declared. Names has the first.
	// Example: "features that are not declared: timestamp".
	CodeFeatureUndeclared = problem + "feature-undeclared"
	// CodeDeclaration: a declaration cannot be used. Cause is the reason.
	// Example: "declaration: 1 names for 2 values".
	CodeDeclaration = problem + "declaration"
	// CodeRateInvalid: the declared rate, Got, is no number of frames a second.
	// Example: "fps: 0, want frames a second".
	CodeRateInvalid = problem + "rate-invalid"
	// CodeSliceBeyond: slices are not inside their feature. Names has the first, Got is the slice, Want the number of columns.
	// Example: "slices beyond their feature: modality.state.arm is observation.state[0:9], which has 7 columns".
	CodeSliceBeyond = problem + "slice-beyond"
	// CodeVideoUnlocated: the list does not locate the videos of episodes. Row is the first, Cause the reason.
	// Example: "videos that cannot be found: episode 0: meta/episodes does not have the episode".
	CodeVideoUnlocated = problem + "video-unlocated"
	// CodeVideoOverlap: the videos of Count episodes begin before that of another in the file ends. Row is the first, Got has their ranges.
	// Example: "episodes whose videos begin before that of another in the file ends: 1-2".
	CodeVideoOverlap = problem + "video-overlap"
	// CodeSplitRange: a split has no range of episodes but Got.
	// Example: "range: 8:7, want one such as 0:80".
	CodeSplitRange = problem + "split-range"
	// CodeSplitEpisodes: Count of the Of episodes of a split are not there.
	// Example: "episodes that are not there: 6 of 8".
	CodeSplitEpisodes = problem + "split-episodes"
	// CodeColumnsDiffer: a stream has other columns, Got, in the episode that was read at Row, than in the first that has it, Want.
	// Example: "differs between episodes: the first that has it has 2 columns, and episode 2 of those that were read 3 columns".
	CodeColumnsDiffer = problem + "columns-differ"
	// CodeFrameRange: Count episodes have no range of frames. Row is the first, Got its range.
	// Example: "row 1 is from 5 to 3: want the first frame and the last, from 0 to 2^40".
	CodeFrameRange = problem + "frame-range"
	// CodeFrameTwice: Count frames are there twice.
	// Example: "1 frame is there twice, under names with more zeros or fewer".
	CodeFrameTwice = problem + "frame-twice"
	// CodeFrameOutside: Count frames are in no episode of the list.
	// Example: "2 frames are in none of its episodes".
	CodeFrameOutside = problem + "frame-outside"
	// CodeAnnotationCounts: the lists of annotations differ in length. Names has the lengths.
	// Example: "3 texts, 2 tasks, 3 places: the first of each go together".
	CodeAnnotationCounts = problem + "annotation-counts"
	// CodeAnnotationInvalid: Count annotations are left out, because they have no text of at most Want bytes, or no range of frames.
	// Example: "1 annotation is left out: want a text of at most 4096 bytes and the first frame and the last".
	CodeAnnotationInvalid = problem + "annotation-invalid"
	// CodeAnnotationOutside: Count annotations are not inside one episode.
	// Example: "1 annotation is not inside one episode".
	CodeAnnotationOutside = problem + "annotation-outside"
	// CodeSceneInvalid: Count scenes are left out, because they have no name or no range of frames. Names has the first.
	// Example: "1 scene is left out: want a name and its first frame and its last: lab".
	CodeSceneInvalid = problem + "scene-invalid"
	// CodeItemsBeyond: the last Count items of a list, named by Names, are left out, because there are more than Want.
	// Example: "3 scenes are left out: there are more than 1000".
	CodeItemsBeyond = problem + "items-beyond"
	// CodeRecorderDropouts: the recorder noted Count times that it lost data.
	// Example: "the recorder noted that it lost data 3 times".
	CodeRecorderDropouts = problem + "recorder-dropouts"
)
