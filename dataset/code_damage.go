package dataset

// Codes of ClassDamage: broken bytes that a reader passed over. Count is the number of broken parts, Bytes their size in the file, Cause the first error.
const (
	// CodeHeaderBroken: the first record of a log, which is passed over.
	// Example: "headers that are broken: 2, 38 bytes (first: ...)".
	CodeHeaderBroken Code = "header-broken"
	// CodeNotClosed: the log has no end or no index, because its recorder was killed or the file was cut.
	// Example: "files that are cut, or were never closed: 2, 38 bytes (first: ...)".
	CodeNotClosed Code = "file-not-closed"
	// CodeNoDataEnd: the data section of a log has no end, though the file has.
	// Example: "data sections without an end: 2, 38 bytes (first: ...)".
	CodeNoDataEnd Code = "data-section-unended"
	// CodeIndexBroken: the index or summary of a log is broken or does not fit the file, which was scanned instead.
	// Example: "indexes that do not fit the file, which was scanned: 2, 38 bytes (first: ...)".
	CodeIndexBroken Code = "index-broken"
	// CodeNoRecords: stretches of a file that hold no whole records.
	// Example: "stretches without whole records: 2, 38 bytes (first: ...)".
	CodeNoRecords Code = "bytes-without-records"
	// CodeRecordBroken: records that do not hold what their type requires: definitions, metadata, attachments, parameters, texts, tables.
	// Example: "records that are broken: 2, 38 bytes (first: ...)".
	CodeRecordBroken Code = "record-broken"
	// CodeRecordCut: the file ends inside a record.
	// Example: "records that the end of the file cuts: 2, 38 bytes (first: ...)".
	CodeRecordCut Code = "record-cut"
	// CodeRecordInterrupted: a recorder stopped inside a record, and another part was appended.
	// Example: "messages that an appended part cut short: 2, 38 bytes (first: ...)".
	CodeRecordInterrupted Code = "record-interrupted"
	// CodeRecordMisplaced: records in a chunk that has no place for their type.
	// Example: "records in chunks that have no place there: 2, 38 bytes (first: ...)".
	CodeRecordMisplaced Code = "record-misplaced"
	// CodePartMisplaced: offsets of appended data that cannot be.
	// Example: "appended parts that are not where they should be: 2, 38 bytes (first: ...)".
	CodePartMisplaced Code = "part-misplaced"
	// CodeChunkBroken: chunks that cannot be decompressed, or fail their checksum.
	// Example: "chunks that are broken: 2, 38 bytes (first: ...)".
	CodeChunkBroken Code = "chunk-broken"
	// CodeChunkCut: the file ends inside a chunk, which gives its whole messages.
	// Example: "chunks that are cut: 2, 38 bytes (first: ...)".
	CodeChunkCut Code = "chunk-cut"
	// CodeChunkSize: chunks of another size than they declare.
	// Example: "chunks of another size than they declare: 2, 38 bytes (first: ...)".
	CodeChunkSize Code = "chunk-size"
	// CodeTopicRedefined: a channel or connection is defined twice, and not the same.
	// Example: "topics that are defined twice, and not the same: 2, 38 bytes (first: ...)".
	CodeTopicRedefined Code = "topic-redefined"
	// CodeMessageShort: messages of a wrong length.
	// Example: "messages of a wrong length: 2, 38 bytes (first: ...)".
	CodeMessageShort Code = "message-short"
	// CodeMessageType: messages with a column of a wrong type in the database.
	// Example: "messages of a wrong kind: 2, 38 bytes (first: ...)".
	CodeMessageType Code = "message-type"
	// CodeMessageMismatch: messages that do not fit the type of their topic.
	// Example: "messages that do not fit their type: 2, 38 bytes (first: ...)".
	CodeMessageMismatch Code = "message-mismatch"
	// CodeMessageWithoutTopic: messages of a channel, connection or topic that is not there.
	// Example: "messages of a topic that is not there: 2, 38 bytes (first: ...)".
	CodeMessageWithoutTopic Code = "message-without-topic"
	// CodeMessageFormat: messages of a type with a definition that is broken.
	// Example: "messages of a broken format: 2, 38 bytes (first: ...)".
	CodeMessageFormat Code = "message-format"
	// CodeMessageCompression: messages that cannot be decompressed.
	// Example: "messages that cannot be decompressed: 2, 38 bytes (first: ...)".
	CodeMessageCompression Code = "message-compression"
	// CodeTimeOverflow: times that int64 nanoseconds do not hold.
	// Example: "times beyond the clock: 2, 38 bytes (first: ...)".
	CodeTimeOverflow Code = "time-overflow"
	// CodeFileShort: a database ends before its pages do.
	// Example: "bytes missing at the end of the database: 2, 38 bytes (first: ...)".
	CodeFileShort Code = "file-short"
	// CodeWALBroken: the write-ahead log of a database is broken, and passed over.
	// Example: "write-ahead logs that are broken: 2, 38 bytes (first: ...)".
	CodeWALBroken Code = "wal-broken"
	// CodePageUnreadable: pages of a database that hold messages and cannot be read.
	// Example: "pages of messages that cannot be read: 2, 38 bytes (first: ...)".
	CodePageUnreadable Code = "page-unreadable"
	// CodeFileLost: files of a recording in several files that cannot be read.
	// Example: "files that cannot be read: 2, 38 bytes (first: ...)".
	CodeFileLost Code = "file-lost"
	// CodeCompressionBroken: compressed files that are broken, and give what comes before.
	// Example: "compressed files that are broken: 2, 38 bytes (first: ...)".
	CodeCompressionBroken Code = "compression-broken"
	// CodeArrayBroken: arrays, features or datasets that cannot be read.
	// Example: "arrays that are broken: 2, 38 bytes (first: ...)".
	CodeArrayBroken Code = "array-broken"
	// CodeArrayCut: arrays that the file ends in.
	// Example: "arrays that the file ends in: 2, 38 bytes (first: ...)".
	CodeArrayCut Code = "array-cut"
	// CodeAttributeBroken: attributes that cannot be read, or are not so.
	// Example: "attributes that are broken: 2, 38 bytes (first: ...)".
	CodeAttributeBroken Code = "attribute-broken"
	// CodeColumnUnreadable: columns of a table that cannot be read.
	// Example: "columns that cannot be read: 2, 38 bytes (first: ...)".
	CodeColumnUnreadable Code = "column-unreadable"
	// CodeLineBroken: lines of a text that are no rows. Got is the name of the file if it has one beside the recording's.
	// Example: "lines that are broken: 2, 38 bytes (first: ...)".
	CodeLineBroken Code = "line-broken"
	// CodeLineCut: the file ends inside a line.
	// Example: "lines that the end of the file cuts: 2, 38 bytes (first: ...)".
	CodeLineCut Code = "line-cut"
	// CodeLineLong: lines longer than a reader takes.
	// Example: "lines that are too long: 2, 38 bytes (first: ...)".
	CodeLineLong Code = "line-long"
	// CodeBoxBroken: boxes of a video that are broken.
	// Example: "broken boxes: 2, 38 bytes (first: ...)".
	CodeBoxBroken Code = "box-broken"
	// CodeBoxCut: boxes of a video that end after the file.
	// Example: "boxes that end behind the file: 2, 38 bytes (first: ...)".
	CodeBoxCut Code = "box-cut"
	// CodeNoBoxes: bytes of a video that are no boxes.
	// Example: "bytes that are no boxes: 2, 38 bytes (first: ...)".
	CodeNoBoxes Code = "bytes-without-boxes"
	// CodeFrameTableShort: tables of a video with fewer entries than they declare.
	// Example: "tables of frames with fewer entries than they say: 2, 38 bytes (first: ...)".
	CodeFrameTableShort Code = "frame-table-short"
	// CodeFrameCut: frames of a video with bytes after the end of the file.
	// Example: "frames whose bytes are not there: 2, 38 bytes (first: ...)".
	CodeFrameCut Code = "frame-cut"
	// CodeFrameUnlisted: frames that a table of a video leaves out.
	// Example: "frames that a table leaves out: 2, 38 bytes (first: ...)".
	CodeFrameUnlisted Code = "frame-unlisted"
	// CodePointLost: points of a cloud.
	// Example: "points: 2, 38 bytes (first: ...)".
	CodePointLost Code = "point-lost"
	// CodeRowLost: rows of an element of a PLY file. Got is the name of the element.
	// Example: "rows of face: 2, 38 bytes (first: ...)".
	CodeRowLost Code = "row-lost"
	// CodeFrameMissing: files of frames that are not there.
	// Example: "frames that are not there: 2, 38 bytes (first: ...)".
	CodeFrameMissing Code = "frame-missing"
	// CodeFrameBroken: files of frames that cannot be read.
	// Example: "frames that are broken: 2, 38 bytes (first: ...)".
	CodeFrameBroken Code = "frame-broken"
	// CodeFrameWithoutArray: frames that lack an array that others have. Subject is the array.
	// Example: "frames without the array: 2, 38 bytes (first: ...)".
	CodeFrameWithoutArray Code = "frame-without-array"
	// CodeSampleUnlike: samples with another shape or type than most. Subject is the array.
	// Example: "samples that are unlike the others: 2, 38 bytes (first: ...)".
	CodeSampleUnlike Code = "sample-unlike"
	// CodeImageBroken: images with broken headers. Subject is the camera.
	// Example: "images that are broken: 2, 38 bytes (first: ...)".
	CodeImageBroken Code = "image-broken"
	// CodeVideoEmpty: a video that has no frames of the episode. Subject is the camera.
	// Example: "videos without frames: 2, 38 bytes (first: ...)".
	CodeVideoEmpty Code = "video-empty"
	// CodeVideoTimes: the times of a video are not those of the rows, and its frames are counted. Subject is the camera.
	// Example: "videos whose times are not those of the rows: their frames are counted: 2, 38 bytes (first: ...)".
	CodeVideoTimes Code = "video-times"
	// CodeFrameDrift: video frames that are more than 0.1 ms from their rows. Subject is the camera, Row the worst.
	// Example: "video frames that are more than 0.1 ms from their rows: 2, 38 bytes (first: ...)".
	CodeFrameDrift Code = "frame-drift"
	// CodeRowWithoutFrame: rows that have no frame in the video. Subject is the camera.
	// Example: "rows without a video frame: 2, 38 bytes (first: ...)".
	CodeRowWithoutFrame Code = "row-without-frame"
	// CodeFrameWithoutRow: frames of a video that no row has. Subject is the camera.
	// Example: "video frames without a row: 2, 38 bytes (first: ...)".
	CodeFrameWithoutRow Code = "frame-without-row"
	// CodeRowLengths: a column with rows of so many lengths that no array holds them. Subject is the column.
	// Example: "columns of rows of different lengths: 2, 38 bytes (first: ...)".
	CodeRowLengths Code = "row-lengths"
	// CodeRowLength: rows of another length than the others, which become NaN. Subject is the column.
	// Example: "rows of another length than the others, NaN here: 2, 38 bytes (first: ...)".
	CodeRowLength Code = "row-length"
	// CodeColumnWidth: a column with another width than declared. Subject is the column.
	// Example: "columns of another width than declared: 2, 38 bytes (first: ...)".
	CodeColumnWidth Code = "column-width"
	// CodeIndexNotWhole: a column of bookkeeping that does not hold whole numbers. Subject is the column.
	// Example: "columns of bookkeeping that are not whole numbers: 2, 38 bytes (first: ...)".
	CodeIndexNotWhole Code = "index-not-whole"
	// CodeTimestampUnusable: a column of timestamps that is not used, because not all are finite seconds.
	// Example: "columns of timestamps that are not seconds throughout, and not used: 2, 38 bytes (first: ...)".
	CodeTimestampUnusable Code = "timestamp-unusable"
	// CodeTimesCounted: an episode without the timestamps that the dataset declares, so that its rows are counted.
	// Example: "episodes without timestamps, whose rows are counted instead: 2, 38 bytes (first: ...)".
	CodeTimesCounted Code = "times-counted"
	// CodeTaskUnlisted: numbers of tasks that the list of tasks lacks.
	// Example: "tasks that the list of tasks lacks: 2, 38 bytes (first: ...)".
	CodeTaskUnlisted Code = "task-unlisted"
	// CodeEpisodeIndex: rows with the number of another episode. Row is the first.
	// Example: "rows that say that they are of another episode: 2, 38 bytes (first: ...)".
	CodeEpisodeIndex Code = "episode-index"
	// CodeFrameIndex: steps of frame_index other than to the next number. Row is the first.
	// Example: "steps of frame_index other than to the next number: 2, 38 bytes (first: ...)".
	CodeFrameIndex Code = "frame-index"
	// CodeRowIndex: steps of index other than to the next number. Row is the first.
	// Example: "steps of index other than to the next number, by which LeRobot finds rows: 2, 38 bytes (first: ...)".
	CodeRowIndex Code = "row-index"
)

var damageCodes = []Code{
	CodeHeaderBroken, CodeNotClosed, CodeNoDataEnd, CodeIndexBroken, CodeNoRecords, CodeRecordBroken, CodeRecordCut,
	CodeRecordInterrupted, CodeRecordMisplaced, CodePartMisplaced, CodeChunkBroken, CodeChunkCut, CodeChunkSize, CodeTopicRedefined,
	CodeMessageShort, CodeMessageType, CodeMessageMismatch, CodeMessageWithoutTopic, CodeMessageFormat, CodeMessageCompression,
	CodeTimeOverflow, CodeFileShort, CodeWALBroken, CodePageUnreadable, CodeFileLost, CodeCompressionBroken, CodeArrayBroken,
	CodeArrayCut, CodeAttributeBroken, CodeColumnUnreadable, CodeLineBroken, CodeLineCut, CodeLineLong, CodeBoxBroken, CodeBoxCut,
	CodeNoBoxes, CodeFrameTableShort, CodeFrameCut, CodeFrameUnlisted, CodePointLost, CodeRowLost, CodeFrameMissing,
	CodeFrameBroken, CodeFrameWithoutArray, CodeSampleUnlike, CodeImageBroken, CodeVideoEmpty, CodeVideoTimes, CodeFrameDrift,
	CodeRowWithoutFrame, CodeFrameWithoutRow, CodeRowLengths, CodeRowLength, CodeColumnWidth, CodeIndexNotWhole,
	CodeTimestampUnusable, CodeTimesCounted, CodeTaskUnlisted, CodeEpisodeIndex, CodeFrameIndex, CodeRowIndex,
}
