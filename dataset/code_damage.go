package dataset

// Codes of ClassDamage: broken bytes that a reader passed over. Count is the number of broken parts, Bytes their size in the file, Cause the first error.
const (
	// CodeHeaderBroken: the first record of a log, which is passed over.
	// Example: "headers that are broken: 2, 38 bytes (first: ...)".
	CodeHeaderBroken = damage + "header-broken"
	// CodeNotClosed: the log has no end or no index, because its recorder was killed or the file was cut.
	// Example: "files that are cut, or were never closed: 2, 38 bytes (first: ...)".
	CodeNotClosed = damage + "file-not-closed"
	// CodeNoDataEnd: the data section of a log has no end, though the file has.
	// Example: "data sections without an end: 2, 38 bytes (first: ...)".
	CodeNoDataEnd = damage + "data-section-unended"
	// CodeIndexBroken: the index or summary of a log is broken or does not fit the file, which was scanned instead.
	// Example: "indexes that do not fit the file, which was scanned: 2, 38 bytes (first: ...)".
	CodeIndexBroken = damage + "index-broken"
	// CodeNoRecords: stretches of a file that hold no whole records.
	// Example: "stretches without whole records: 2, 38 bytes (first: ...)".
	CodeNoRecords = damage + "bytes-without-records"
	// CodeRecordBroken: records that do not hold what their type requires: definitions, metadata, attachments, parameters, texts, tables.
	// Example: "records that are broken: 2, 38 bytes (first: ...)".
	CodeRecordBroken = damage + "record-broken"
	// CodeRecordCut: the file ends inside a record.
	// Example: "records that the end of the file cuts: 2, 38 bytes (first: ...)".
	CodeRecordCut = damage + "record-cut"
	// CodeRecordInterrupted: a recorder stopped inside a record, and another part was appended.
	// Example: "messages that an appended part cut short: 2, 38 bytes (first: ...)".
	CodeRecordInterrupted = damage + "record-interrupted"
	// CodeRecordMisplaced: records in a chunk that has no place for their type.
	// Example: "records in chunks that have no place there: 2, 38 bytes (first: ...)".
	CodeRecordMisplaced = damage + "record-misplaced"
	// CodePartMisplaced: offsets of appended data that cannot be.
	// Example: "appended parts that are not where they should be: 2, 38 bytes (first: ...)".
	CodePartMisplaced = damage + "part-misplaced"
	// CodeChunkBroken: chunks that cannot be decompressed, or fail their checksum.
	// Example: "chunks that are broken: 2, 38 bytes (first: ...)".
	CodeChunkBroken = damage + "chunk-broken"
	// CodeChunkCut: the file ends inside a chunk, which gives its whole messages.
	// Example: "chunks that are cut: 2, 38 bytes (first: ...)".
	CodeChunkCut = damage + "chunk-cut"
	// CodeChunkSize: chunks of another size than they declare.
	// Example: "chunks of another size than they declare: 2, 38 bytes (first: ...)".
	CodeChunkSize = damage + "chunk-size"
	// CodeTopicRedefined: a channel or connection is defined twice, and not the same.
	// Example: "topics that are defined twice, and not the same: 2, 38 bytes (first: ...)".
	CodeTopicRedefined = damage + "topic-redefined"
	// CodeMessageShort: messages of a wrong length.
	// Example: "messages of a wrong length: 2, 38 bytes (first: ...)".
	CodeMessageShort = damage + "message-short"
	// CodeMessageType: messages with a column of a wrong type in the database.
	// Example: "messages of a wrong kind: 2, 38 bytes (first: ...)".
	CodeMessageType = damage + "message-type"
	// CodeMessageMismatch: messages that do not fit the type of their topic.
	// Example: "messages that do not fit their type: 2, 38 bytes (first: ...)".
	CodeMessageMismatch = damage + "message-mismatch"
	// CodeMessageWithoutTopic: messages of a channel, connection or topic that is not there.
	// Example: "messages of a topic that is not there: 2, 38 bytes (first: ...)".
	CodeMessageWithoutTopic = damage + "message-without-topic"
	// CodeMessageFormat: messages of a type with a definition that is broken.
	// Example: "messages of a broken format: 2, 38 bytes (first: ...)".
	CodeMessageFormat = damage + "message-format"
	// CodeMessageCompression: messages that cannot be decompressed.
	// Example: "messages that cannot be decompressed: 2, 38 bytes (first: ...)".
	CodeMessageCompression = damage + "message-compression"
	// CodeTimeOverflow: times that int64 nanoseconds do not hold.
	// Example: "times beyond the clock: 2, 38 bytes (first: ...)".
	CodeTimeOverflow = damage + "time-overflow"
	// CodeFileShort: a database ends before its pages do.
	// Example: "bytes missing at the end of the database: 2, 38 bytes (first: ...)".
	CodeFileShort = damage + "file-short"
	// CodeWALBroken: the write-ahead log of a database is broken, and passed over.
	// Example: "write-ahead logs that are broken: 2, 38 bytes (first: ...)".
	CodeWALBroken = damage + "wal-broken"
	// CodePageUnreadable: pages of a database that hold messages and cannot be read.
	// Example: "pages of messages that cannot be read: 2, 38 bytes (first: ...)".
	CodePageUnreadable = damage + "page-unreadable"
	// CodeFileLost: files of a recording in several files that cannot be read.
	// Example: "files that cannot be read: 2, 38 bytes (first: ...)".
	CodeFileLost = damage + "file-lost"
	// CodeCompressionBroken: compressed files that are broken, and give what comes before.
	// Example: "compressed files that are broken: 2, 38 bytes (first: ...)".
	CodeCompressionBroken = damage + "compression-broken"
	// CodeArrayBroken: arrays, features or datasets that cannot be read.
	// Example: "arrays that are broken: 2, 38 bytes (first: ...)".
	CodeArrayBroken = damage + "array-broken"
	// CodeArrayCut: arrays that the file ends in.
	// Example: "arrays that the file ends in: 2, 38 bytes (first: ...)".
	CodeArrayCut = damage + "array-cut"
	// CodeAttributeBroken: attributes that cannot be read, or are not so.
	// Example: "attributes that are broken: 2, 38 bytes (first: ...)".
	CodeAttributeBroken = damage + "attribute-broken"
	// CodeColumnUnreadable: columns of a table that cannot be read.
	// Example: "columns that cannot be read: 2, 38 bytes (first: ...)".
	CodeColumnUnreadable = damage + "column-unreadable"
	// CodeLineBroken: lines of a text that are no rows. Got is the name of the file if it has one beside the recording's.
	// Example: "lines that are broken: 2, 38 bytes (first: ...)".
	CodeLineBroken = damage + "line-broken"
	// CodeLineCut: the file ends inside a line.
	// Example: "lines that the end of the file cuts: 2, 38 bytes (first: ...)".
	CodeLineCut = damage + "line-cut"
	// CodeLineLong: lines longer than a reader takes.
	// Example: "lines that are too long: 2, 38 bytes (first: ...)".
	CodeLineLong = damage + "line-long"
	// CodeBoxBroken: boxes of a video that are broken.
	// Example: "broken boxes: 2, 38 bytes (first: ...)".
	CodeBoxBroken = damage + "box-broken"
	// CodeBoxCut: boxes of a video that end after the file.
	// Example: "boxes that end behind the file: 2, 38 bytes (first: ...)".
	CodeBoxCut = damage + "box-cut"
	// CodeNoBoxes: bytes of a video that are no boxes.
	// Example: "bytes that are no boxes: 2, 38 bytes (first: ...)".
	CodeNoBoxes = damage + "bytes-without-boxes"
	// CodeFrameTableShort: tables of a video with fewer entries than they declare.
	// Example: "tables of frames with fewer entries than they say: 2, 38 bytes (first: ...)".
	CodeFrameTableShort = damage + "frame-table-short"
	// CodeFrameCut: frames of a video with bytes after the end of the file.
	// Example: "frames whose bytes are not there: 2, 38 bytes (first: ...)".
	CodeFrameCut = damage + "frame-cut"
	// CodeFrameUnlisted: frames that a table of a video leaves out.
	// Example: "frames that a table leaves out: 2, 38 bytes (first: ...)".
	CodeFrameUnlisted = damage + "frame-unlisted"
	// CodePointLost: points of a cloud.
	// Example: "points: 2, 38 bytes (first: ...)".
	CodePointLost = damage + "point-lost"
	// CodeRowLost: rows of an element of a PLY file. Got is the name of the element.
	// Example: "rows of face: 2, 38 bytes (first: ...)".
	CodeRowLost = damage + "row-lost"
	// CodeFrameMissing: files of frames that are not there.
	// Example: "frames that are not there: 2, 38 bytes (first: ...)".
	CodeFrameMissing = damage + "frame-missing"
	// CodeFrameBroken: files of frames that cannot be read.
	// Example: "frames that are broken: 2, 38 bytes (first: ...)".
	CodeFrameBroken = damage + "frame-broken"
	// CodeFrameWithoutArray: frames that lack an array that others have. Subject is the array.
	// Example: "frames without the array: 2, 38 bytes (first: ...)".
	CodeFrameWithoutArray = damage + "frame-without-array"
	// CodeSampleUnlike: samples with another shape or type than most. Subject is the array.
	// Example: "samples that are unlike the others: 2, 38 bytes (first: ...)".
	CodeSampleUnlike = damage + "sample-unlike"
	// CodeImageBroken: images with broken headers. Subject is the camera.
	// Example: "images that are broken: 2, 38 bytes (first: ...)".
	CodeImageBroken = damage + "image-broken"
	// CodeVideoEmpty: a video that has no frames of the episode. Subject is the camera.
	// Example: "videos without frames: 2, 38 bytes (first: ...)".
	CodeVideoEmpty = damage + "video-empty"
	// CodeVideoTimes: the times of a video are not those of the rows, and its frames are counted. Subject is the camera.
	// Example: "videos whose times are not those of the rows: their frames are counted: 2, 38 bytes (first: ...)".
	CodeVideoTimes = damage + "video-times"
	// CodeFrameDrift: video frames that are more than 0.1 ms from their rows. Subject is the camera, Row the worst.
	// Example: "video frames that are more than 0.1 ms from their rows: 2, 38 bytes (first: ...)".
	CodeFrameDrift = damage + "frame-drift"
	// CodeRowWithoutFrame: rows that have no frame in the video. Subject is the camera.
	// Example: "rows without a video frame: 2, 38 bytes (first: ...)".
	CodeRowWithoutFrame = damage + "row-without-frame"
	// CodeFrameWithoutRow: frames of a video that no row has. Subject is the camera.
	// Example: "video frames without a row: 2, 38 bytes (first: ...)".
	CodeFrameWithoutRow = damage + "frame-without-row"
	// CodeRowLengths: a column with rows of so many lengths that no array holds them. Subject is the column.
	// Example: "columns of rows of different lengths: 2, 38 bytes (first: ...)".
	CodeRowLengths = damage + "row-lengths"
	// CodeRowLength: rows of another length than the others, which become NaN. Subject is the column.
	// Example: "rows of another length than the others, NaN here: 2, 38 bytes (first: ...)".
	CodeRowLength = damage + "row-length"
	// CodeColumnWidth: a column with another width than declared. Subject is the column.
	// Example: "columns of another width than declared: 2, 38 bytes (first: ...)".
	CodeColumnWidth = damage + "column-width"
	// CodeIndexNotWhole: a column of bookkeeping that does not hold whole numbers. Subject is the column.
	// Example: "columns of bookkeeping that are not whole numbers: 2, 38 bytes (first: ...)".
	CodeIndexNotWhole = damage + "index-not-whole"
	// CodeTimestampUnusable: a column of timestamps that is not used, because not all are finite seconds.
	// Example: "columns of timestamps that are not seconds throughout, and not used: 2, 38 bytes (first: ...)".
	CodeTimestampUnusable = damage + "timestamp-unusable"
	// CodeTimesCounted: an episode without the timestamps that the dataset declares, so that its rows are counted.
	// Example: "episodes without timestamps, whose rows are counted instead: 2, 38 bytes (first: ...)".
	CodeTimesCounted = damage + "times-counted"
	// CodeTaskUnlisted: numbers of tasks that the list of tasks lacks.
	// Example: "tasks that the list of tasks lacks: 2, 38 bytes (first: ...)".
	CodeTaskUnlisted = damage + "task-unlisted"
	// CodeEpisodeIndex: rows with the number of another episode. Row is the first.
	// Example: "rows that say that they are of another episode: 2, 38 bytes (first: ...)".
	CodeEpisodeIndex = damage + "episode-index"
	// CodeFrameIndex: steps of frame_index other than to the next number. Row is the first.
	// Example: "steps of frame_index other than to the next number: 2, 38 bytes (first: ...)".
	CodeFrameIndex = damage + "frame-index"
	// CodeRowIndex: steps of index other than to the next number. Row is the first.
	// Example: "steps of index other than to the next number, by which LeRobot finds rows: 2, 38 bytes (first: ...)".
	CodeRowIndex = damage + "row-index"
)
