package dataset

// Codes of ClassDamage: broken bytes that a reader skipped. Count is the number of broken parts, Bytes their size in the file, and
// Cause the first error.
const (
	// CodeHeaderBroken: the first record of a log is broken, and the reader starts at the next one. Example: a bag with zeros
	// after its first line.
	CodeHeaderBroken = damage + "header-broken"
	// CodeNotClosed: the log has no end or no index, because its recorder was killed or the file was cut. Example: an MCAP
	// file without a footer.
	CodeNotClosed = damage + "file-not-closed"
	// CodeNoDataEnd: the data section of an MCAP file lacks its end record, although the file continues. Example: a log that a
	// tool repaired.
	CodeNoDataEnd = damage + "data-section-unended"
	// CodeIndexBroken: the index or summary of a log is broken or contradicts the file, so the reader scanned the whole file
	// instead. Example: an index with offsets after the end of the file.
	CodeIndexBroken = damage + "index-broken"
	// CodeNoRecords: the bytes between two whole records are no record. Example: a block of zeros after a power failure.
	CodeNoRecords = damage + "bytes-without-records"
	// CodeRecordBroken: a record lacks fields that its type requires: a definition, metadata, an attachment, a parameter, a
	// text or a table. Example: a schema record without a name.
	CodeRecordBroken = damage + "record-broken"
	// CodeRecordCut: the file ends inside a record. Example: a copy that stopped early.
	CodeRecordCut = damage + "record-cut"
	// CodeRecordInterrupted: the recorder stopped inside a record, and another part was appended there. Example: a ULog file
	// with appended data after a crash.
	CodeRecordInterrupted = damage + "record-interrupted"
	// CodeRecordMisplaced: a chunk contains a record that may not be in chunks. Example: a footer inside an MCAP chunk.
	CodeRecordMisplaced = damage + "record-misplaced"
	// CodePartMisplaced: the offset of an appended part is impossible. Example: a ULog offset after the end of the file.
	CodePartMisplaced = damage + "part-misplaced"
	// CodeChunkBroken: a chunk cannot be decompressed, or fails its checksum. Example: one flipped bit in a compressed chunk.
	CodeChunkBroken = damage + "chunk-broken"
	// CodeChunkCut: the file ends inside a chunk; its whole messages are read. Example: the last chunk of a recorder that was
	// killed.
	CodeChunkCut = damage + "chunk-cut"
	// CodeChunkSize: a chunk decompresses to another size than it declares. Example: 4096 bytes declared, 4000 found.
	CodeChunkSize = damage + "chunk-size"
	// CodeTopicRedefined: a channel or connection is defined twice with different contents. Example: channel 3 with two
	// topics.
	CodeTopicRedefined = damage + "topic-redefined"
	// CodeMessageShort: a message is shorter or longer than its type. Example: a ULog sample of 11 bytes with a definition of
	// 12.
	CodeMessageShort = damage + "message-short"
	// CodeMessageType: a message row in a database has a column with the wrong type. Example: a text in the column timestamp.
	CodeMessageType = damage + "message-type"
	// CodeMessageMismatch: a message contradicts the type of its topic. Example: a list length greater than the message.
	CodeMessageMismatch = damage + "message-mismatch"
	// CodeMessageWithoutTopic: a message refers to a channel, connection or topic that the file does not define. Example:
	// channel 9 in a file with channels 1 to 3.
	CodeMessageWithoutTopic = damage + "message-without-topic"
	// CodeMessageFormat: the definition of a message type is broken, so its messages are not read. Example: a ULog format
	// without field names.
	CodeMessageFormat = damage + "message-format"
	// CodeMessageCompression: a message cannot be decompressed. Example: a truncated zstd frame in a rosbag2 database.
	CodeMessageCompression = damage + "message-compression"
	// CodeTimeOverflow: a time exceeds int64 nanoseconds. Example: a log time after the year 2262.
	CodeTimeOverflow = damage + "time-overflow"
	// CodeFileShort: a database file is shorter than its header declares. Example: an SQLite file that was copied while it
	// grew.
	CodeFileShort = damage + "file-short"
	// CodeWALBroken: the write-ahead log of a database is broken, so the database is read without it. Example: a -wal file
	// with a wrong checksum.
	CodeWALBroken = damage + "wal-broken"
	// CodePageUnreadable: a database page with messages cannot be read. Example: a page of zeros.
	CodePageUnreadable = damage + "page-unreadable"
	// CodeFileLost: one file of a recording with several files cannot be read; the others are. Example: a missing run_1.mcap
	// between run_0.mcap and run_2.mcap.
	CodeFileLost = damage + "file-lost"
	// CodeCompressionBroken: a compressed file is broken; the data before the broken part is read. Example: a .bag.bz2 file
	// that was cut.
	CodeCompressionBroken = damage + "compression-broken"
	// CodeArrayBroken: an array, feature or dataset cannot be read. Example: an HDF5 chunk with a wrong checksum.
	CodeArrayBroken = damage + "array-broken"
	// CodeArrayCut: the file ends inside an array. Example: an .npy file that was copied in part.
	CodeArrayCut = damage + "array-cut"
	// CodeAttributeBroken: an attribute cannot be read, or has an unexpected type. Example: an attribute success that is a
	// list.
	CodeAttributeBroken = damage + "attribute-broken"
	// CodeColumnUnreadable: a table column cannot be read. Example: a Parquet page that cannot be decompressed.
	CodeColumnUnreadable = damage + "column-unreadable"
	// CodeLineBroken: a line in a text file is no row. Got is the file name if the line is not in the recording itself.
	// Example: a CSV row with a letter in a number.
	CodeLineBroken = damage + "line-broken"
	// CodeLineCut: the file ends inside a line. Example: a last CSV row with half its columns.
	CodeLineCut = damage + "line-cut"
	// CodeLineLong: a line exceeds the reader's limit. Example: a file without line ends.
	CodeLineLong = damage + "line-long"
	// CodeBoxBroken: a box of an MP4 file is broken. Example: a box with a size smaller than its header.
	CodeBoxBroken = damage + "box-broken"
	// CodeBoxCut: a box of an MP4 file extends beyond the end of the file. Example: a video that was uploaded in part.
	CodeBoxCut = damage + "box-cut"
	// CodeNoBoxes: bytes between the boxes of an MP4 file are no box. Example: text that a camera appended.
	CodeNoBoxes = damage + "bytes-without-boxes"
	// CodeFrameTableShort: a table in an MP4 file has fewer entries than it declares. Example: 90 frame sizes, 100 declared.
	CodeFrameTableShort = damage + "frame-table-short"
	// CodeFrameCut: a video frame has bytes beyond the end of the file. Example: the last frames in a video that was cut.
	CodeFrameCut = damage + "frame-cut"
	// CodeFrameUnlisted: one table in an MP4 file has fewer frames than another, so the last frames are lost. Example: chunks
	// for 90 frames, sizes for 100.
	CodeFrameUnlisted = damage + "frame-unlisted"
	// CodePointLost: points of a cloud are lost. Example: a PCD file that ends at point 900 of 1000.
	CodePointLost = damage + "point-lost"
	// CodeRowLost: rows of a PLY element are lost. Got is the element. Example: the last 5 rows of face.
	CodeRowLost = damage + "row-lost"
	// CodeFrameMissing: a frame's file is missing. Example: rgb/000017.png in a dataset of image files.
	CodeFrameMissing = damage + "frame-missing"
	// CodeFrameBroken: a frame's file cannot be read. Example: an .npz file with zero bytes.
	CodeFrameBroken = damage + "frame-broken"
	// CodeFrameWithoutArray: a frame lacks an array that other frames have. Subject is the array. Example: a CALVIN frame
	// without rgb_gripper.
	CodeFrameWithoutArray = damage + "frame-without-array"
	// CodeSampleUnlike: a sample has another shape or type than most samples. Subject is the array. Example: [6] among rows
	// [7].
	CodeSampleUnlike = damage + "sample-unlike"
	// CodeImageBroken: an image has a broken header. Subject is the camera. Example: a JPEG file without a size.
	CodeImageBroken = damage + "image-broken"
	// CodeVideoEmpty: a video has no frames in the time of the episode. Subject is the camera. Example: a shared video file
	// that ends before the episode begins.
	CodeVideoEmpty = damage + "video-empty"
	// CodeVideoTimes: the frame times of a video differ from the row times, so frame n belongs to row n. Subject is the
	// camera. Example: a video that was encoded at 25 Hz for rows at 30 Hz.
	CodeVideoTimes = damage + "video-times"
	// CodeFrameDrift: a video frame is more than 0.1 ms from its row. Subject is the camera, Row the row with the largest
	// distance. Example: frame 299 is 3 ms late.
	CodeFrameDrift = damage + "frame-drift"
	// CodeRowWithoutFrame: a row has no frame in the video. Subject is the camera. Example: a video with 299 frames for 300
	// rows.
	CodeRowWithoutFrame = damage + "row-without-frame"
	// CodeFrameWithoutRow: a video frame belongs to no row. Subject is the camera. Example: a video with 301 frames for 300
	// rows.
	CodeFrameWithoutRow = damage + "frame-without-row"
	// CodeRowLengths: the rows of a column have so many different lengths that no array [S,D] can hold them. Subject is the
	// column. Example: a list with a random length in each row.
	CodeRowLengths = damage + "row-lengths"
	// CodeRowLength: a row has another length than the other rows and becomes NaN. Subject is the column. Example: 6 numbers
	// in a column with 7.
	CodeRowLength = damage + "row-length"
	// CodeColumnWidth: a column has another width than declared. Subject is the column. Example: 7 numbers, and features.json
	// declares 8.
	CodeColumnWidth = damage + "column-width"
	// CodeIndexNotWhole: an index column contains values that are no whole numbers. Subject is the column. Example:
	// frame_index 2.5.
	CodeIndexNotWhole = damage + "index-not-whole"
	// CodeTimestampUnusable: a timestamp column is not used, because some of its values are not finite seconds. Example: a NaN
	// in timestamp.
	CodeTimestampUnusable = damage + "timestamp-unusable"
	// CodeTimesCounted: an episode lacks the timestamps that the dataset declares, so row n is at n/rate. Example: a LeRobot
	// episode without the column timestamp.
	CodeTimesCounted = damage + "times-counted"
	// CodeTaskUnlisted: a row has a task number that the task list lacks. Example: task_index 7 with 5 tasks.
	CodeTaskUnlisted = damage + "task-unlisted"
	// CodeEpisodeIndex: a row has the number of another episode. Row is the first such row. Example: episode_index 4 in the
	// file for episode 3.
	CodeEpisodeIndex = damage + "episode-index"
	// CodeFrameIndex: frame_index does not increase by 1 from row to row. Row is the first such row. Example: 0, 1, 3.
	CodeFrameIndex = damage + "frame-index"
	// CodeRowIndex: index does not increase by 1 from row to row, so LeRobot reads wrong rows. Row is the first such row.
	// Example: 100, 101, 103.
	CodeRowIndex = damage + "row-index"
)
