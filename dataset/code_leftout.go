package dataset

// Codes of ClassLeftOut: data of a recording that no stream has. Subject is its name in the file, Count the number of its elements or samples.
const (
	// CodeNoSamples: a stream, camera or feature has no samples. Example: a feature of an episode without rows.
	CodeNoSamples = leftOut + "no-samples"
	// CodeNoMessages: a topic has no messages. Example: a topic that a recorder subscribed to and that was silent.
	CodeNoMessages = leftOut + "no-messages"
	// CodeNoValues: an array has no numbers. Example: rows that are all null.
	CodeNoValues = leftOut + "no-values"
	// CodeNoColumns: an array or stream has no columns. Example: shape [200,0].
	CodeNoColumns = leftOut + "no-columns"
	// CodeUnsupported: its type or format is one that the reader does not read. Cause is the error.
	// Example: an array of records in records.
	CodeUnsupported = leftOut + "unsupported"
	// CodeBroken: it is broken, and is counted as damage too. Cause is the error. Example: an array whose bytes end early.
	CodeBroken = leftOut + "broken"
	// CodeInvalidStream: its times and values are not those of a stream. Cause is the error. Example: a timestamp that is NaN.
	CodeInvalidStream = leftOut + "invalid-stream"
	// CodeArrayMismatch: its arrays do not fit each other. Cause is the error. Example: 99 timestamps of 100 samples.
	CodeArrayMismatch = leftOut + "array-mismatch"
	// CodeArrayMissing: an array that completes the stream is missing. Got is the array, Names the missing one, Want the arrays that may replace it.
	// Example: values [9,2] without an array pose.times.
	CodeArrayMissing = leftOut + "array-missing"
	// CodeClockMismatch: the only clock of the archive has another length. Got is the array, Names the missing clock, Want the clock, Of its timestamps.
	// Example: values [9,2], and time has 8 timestamps.
	CodeClockMismatch = leftOut + "clock-mismatch"
	// CodeClockField: records have no field that can be their clock, or several. Got is the array, Want the names of clocks, Names the fields.
	// Example: records with x and y.
	CodeClockField = leftOut + "clock-field"
	// CodeStreamName: its name is empty, no UTF-8 or has zero bytes. Got is the name. Example: an array called .values.
	CodeStreamName = leftOut + "stream-name"
	// CodeNoStream: an array is no part of a stream. Got is the array, Want a stream's arrays.
	// Example: an array weights [3] in an archive of streams.
	CodeNoStream = leftOut + "no-stream"
	// CodeOtherArray: another array makes the stream of its name. Got is the array, Names the other.
	// Example: an array pose next to pose.values.
	CodeOtherArray = leftOut + "other-array"
	// CodeBatchArray: an array of a batch, which resample reads. Got is the array. Example: lengths next to values and times.
	CodeBatchArray = leftOut + "batch-array"
	// CodeClockArray: an array of targets, which fuse reads. Got is the array. Example: an array targets [100].
	CodeClockArray = leftOut + "clock-array"
	// CodeCloudArray: an array of a point cloud, which voxelize reads. Got is the array. Example: an array points [500,3].
	CodeCloudArray = leftOut + "cloud-array"
	// CodeNotArray: a file of an archive that is no array. Example: notes.txt in an .npz file.
	CodeNotArray = leftOut + "not-array"
	// CodeColumnNames: the names of columns are no strings. Got is the array. Example: names that are numbers.
	CodeColumnNames = leftOut + "column-names"
	// CodeMask: the mask of valid samples is none, and all samples are taken. Got is the array or the value, or Cause the error.
	// Example: a flag that is 2.
	CodeMask = leftOut + "mask"
	// CodeMaskApplied: a mask that was applied to a stream and is none itself. Got is the stream. Example: /tf.valid of a resampled log.
	CodeMaskApplied = leftOut + "mask-applied"
	// CodeValueType: its values are no numbers. Got is their type. Example: strings, or complex64.
	CodeValueType = leftOut + "value-type"
	// CodeValueShape: its values have another shape than a stream's or image's. Got is the shape, Want that of streams and images.
	// Example: [200,3,3] of an HDF5 file.
	CodeValueShape = leftOut + "value-shape"
	// CodeTooWide: it has more columns, fields or numbers than a stream may have. Want is the limit, Unit its unit, Got the number if it is known.
	// Example: records of 300 fields.
	CodeTooWide = leftOut + "too-wide"
	// CodeStepCount: an array has another number of rows than the episode has steps. Count is its rows, Of the steps.
	// Example: a camera matrix of 3 rows in an episode of 200 steps.
	CodeStepCount = leftOut + "step-count"
	// CodeSingleValue: one value and no series. Example: the seed of a simulation.
	CodeSingleValue = leftOut + "single-value"
	// CodeAlias: a second name of data that has another one. Example: a soft link in an HDF5 file.
	CodeAlias = leftOut + "alias"
	// CodeInitialState: the state before the first step. Example: initial_state of Isaac Lab.
	CodeInitialState = leftOut + "initial-state"
	// CodeFrameLengths: the lengths of encoded frames, which a decoder does not need. Example: compress_len of ALOHA.
	CodeFrameLengths = leftOut + "frame-lengths"
	// CodeNotImages: rows of bytes that should be encoded images and are none. Example: raw bytes in observations/images.
	CodeNotImages = leftOut + "not-images"
	// CodeImageFormat: images that are neither JPEG nor PNG, nor TIFF of LeRobot. Got is the first bytes of the first, Row its index. Example: images of WebP.
	CodeImageFormat = leftOut + "image-format"
	// CodeMixedImages: images of a stream have two encodings. Example: a camera whose first image is JPEG and whose second is PNG.
	CodeMixedImages = leftOut + "mixed-images"
	// CodeFramesDiffer: Count of Of frames are not like most, Want. Row is the first of them, and Got its size and encoding. Example: a camera that
	// changed its resolution.
	CodeFramesDiffer = leftOut + "frames-differ"
	// CodeEmptyImages: images that are null or have no bytes. Example: a camera that was off for 3 steps.
	CodeEmptyImages = leftOut + "empty-images"
	// CodeText: a column of text. Example: a column of labels in a CSV file.
	CodeText = leftOut + "text"
	// CodeEmptyColumn: a column without a single number. Example: a column of a CSV file that has only commas.
	CodeEmptyColumn = leftOut + "empty-column"
	// CodeEmptyFields: fields without a number, which become NaN. Example: three empty fields of a CSV file.
	CodeEmptyFields = leftOut + "empty-fields"
	// CodeNullRows: rows that are null and become NaN. Example: a list that is null in two rows.
	CodeNullRows = leftOut + "null-rows"
	// CodeNullValues: values that are null and become NaN. Example: two nulls of a Parquet column.
	CodeNullValues = leftOut + "null-values"
	// CodeNullTexts: texts that are null and become empty. Example: a task that is null in a row.
	CodeNullTexts = leftOut + "null-texts"
	// CodeTextLists: lists of texts. Example: a list of labels in each row.
	CodeTextLists = leftOut + "text-lists"
	// CodeLongTexts: texts that change and are longer together than an attribute may be. Example: a transcript in each row.
	CodeLongTexts = leftOut + "long-texts"
	// CodeNotUTF8: bytes that should be text and are no UTF-8. Row is the first step. Example: an instruction in Latin-1.
	CodeNotUTF8 = leftOut + "not-utf8"
	// CodeRaggedRows: rows of different lengths. Got is the most frequent length. Example: rows of 7, 6 and 7 values.
	CodeRaggedRows = leftOut + "ragged-rows"
	// CodeMediaFileMissing: files of a camera that are listed and not there. Names is the first. Example: a video that was not copied.
	CodeMediaFileMissing = leftOut + "media-file-missing"
	// CodeOtherEncoding: images of another encoding than the first. Want is that of the first. Example: a .jpg among .png files.
	CodeOtherEncoding = leftOut + "other-encoding"
	// CodeOtherTrack: a track of a file after its first video. Got is its kind. Example: the sound of a video.
	CodeOtherTrack = leftOut + "other-track"
	// CodeVideoUnplaced: the dataset does not say in which file the video is. Cause says why.
	// Example: meta/episodes without the video's file.
	CodeVideoUnplaced = leftOut + "video-unplaced"
	// CodeFramesWithoutEpisode: frames of a shared video file that belong to no episode.
	// Example: frames after the last episode of the file.
	CodeFramesWithoutEpisode = leftOut + "frames-without-episode"
	// CodeUndeclared: a column or feature that a file, Want, does not declare or have. Example: a feature that features.json lacks.
	CodeUndeclared = leftOut + "undeclared"
	// CodeNotInEpisode: a declared feature that this episode does not have. Example: an optional feature of RLDS.
	CodeNotInEpisode = leftOut + "not-in-episode"
	// CodeOutsideSteps: a sequence that has no place in the steps, or a feature of the steps that is no sequence.
	// Example: a list of way-points of the episode.
	CodeOutsideSteps = leftOut + "outside-steps"
	// CodeNestedSequence: a sequence in a sequence that no stream can hold. Example: lists of texts in each step.
	CodeNestedSequence = leftOut + "nested-sequence"
	// CodeFeatureClass: a feature of a class that is not read. Got is the class. Example: Translation.
	CodeFeatureClass = leftOut + "feature-class"
	// CodeValueEncoding: values in an encoding that is not read. Got is the encoding. Example: lzma.
	CodeValueEncoding = leftOut + "value-encoding"
	// CodeOpenShape: a shape with several open dimensions. Example: [null,null,3].
	CodeOpenShape = leftOut + "open-shape"
	// CodeEpisodeImage: an image of the episode and not of a step. Example: a picture of the goal.
	CodeEpisodeImage = leftOut + "episode-image"
	// CodeEpisodeArray: an array of the episode that is too large for an attribute. Want is how many numbers one may have.
	// Example: a map of 1000 numbers.
	CodeEpisodeArray = leftOut + "episode-array"
	// CodeTooLong: a record that is longer than the reader keeps. Bytes is its size. Example: metadata of 2 MB.
	CodeTooLong = leftOut + "too-long"
	// CodeAnnotationsWithoutFrames: annotations of frames that are all missing. Example: a sentence about frames that were not copied.
	CodeAnnotationsWithoutFrames = leftOut + "annotations-without-frames"
	// CodeEmbeddings: embeddings of texts. Got is the array of each. Example: 384 numbers a sentence.
	CodeEmbeddings = leftOut + "embeddings"
	// CodeNotPoints: elements of a file of points that are no points or no numbers of them. Example: the faces of a mesh.
	CodeNotPoints = leftOut + "not-points"
)

// Codes of ClassLeftOut that readers of logs add: messages and their fields. Subject is the topic.
const (
	// CodeUndecodedMessages: messages that cannot be decoded. Cause is the error of the first. Example: messages that end early.
	CodeUndecodedMessages = leftOut + "undecoded-messages"
	// CodeNoDecoder: no decoder of the topic's messages. Cause is the error. Example: a schema that cannot be read.
	CodeNoDecoder = leftOut + "no-decoder"
	// CodeNoFit: none of the messages fits its type. Got is the type. Example: messages of an older definition.
	CodeNoFit = leftOut + "no-fit"
	// CodeUndefinedType: the recording lacks the definition of a type. Got is the type.
	// Example: a bag with messages of a package that is not installed.
	CodeUndefinedType = leftOut + "undefined-type"
	// CodeSparseMessages: the numbers take many times the memory of the messages, which lack most fields. Want is how many times.
	// Example: JSON messages of one field each.
	CodeSparseMessages = leftOut + "sparse-messages"
	// CodeNoNumbers: messages without a field that is a number. Example: std_msgs/Empty.
	CodeNoNumbers = leftOut + "no-numbers"
	// CodeNoElements: a list that is empty in every message. Example: a trajectory that no message has.
	CodeNoElements = leftOut + "no-elements"
	// CodeData: data of bytes. Got is how many bytes a message has. Example: the payload of a serial port.
	CodeData = leftOut + "data"
	// CodeLabelSetLimit: a list of names has too many different sets. Got is the list, Want the limit.
	// Example: joint names that change in each message.
	CodeLabelSetLimit = leftOut + "label-set-limit"
	// CodeLabelsChange: a list of names changes and does not name all elements. Got is the list. Example: 5 names of 7 positions.
	CodeLabelsChange = leftOut + "labels-change"
	// CodeListLength: a list has other lengths from message to message. Got is the range. Example: 3 to 5 detections.
	CodeListLength = leftOut + "list-length"
	// CodeTextFields: fields of text. Names is the fields. Example: frame_id.
	CodeTextFields = leftOut + "text-fields"
	// CodeNullFields: fields that are null in each message. Names is the fields. Example: a field of JSON that is null.
	CodeNullFields = leftOut + "null-fields"
	// CodeByteFields: fields of bytes. Names is the fields. Example: the payload of a packet.
	CodeByteFields = leftOut + "byte-fields"
	// CodeFieldLimit: fields after the limit of columns. Names is the fields. Example: the last fields of a message of 5000 numbers.
	CodeFieldLimit = leftOut + "field-limit"
	// CodeMixedFields: fields with values of several kinds. Names is the fields. Example: a field that is a number or a text.
	CodeMixedFields = leftOut + "mixed-fields"
	// CodeNestedArrays: arrays in arrays. Names is the fields. Example: the points of each trajectory.
	CodeNestedArrays = leftOut + "nested-arrays"
	// CodeArraysWithoutNumbers: arrays of elements without numbers. Names is the fields. Example: a list of names.
	CodeArraysWithoutNumbers = leftOut + "arrays-without-numbers"
	// CodeHeaderRest: fields of a header other than its stamp. Names is the fields. Example: header.seq.
	CodeHeaderRest = leftOut + "header-rest"
	// CodeLayoutFields: the layout of an array. Names is the fields. Example: layout of std_msgs/Float32MultiArray.
	CodeLayoutFields = leftOut + "layout-fields"
	// CodeWideArrays: arrays of more elements than columns are made of. Names is the fields. Example: a grid of 10000 cells.
	CodeWideArrays = leftOut + "wide-arrays"
	// CodeMapFields: fields that are maps. Names is the fields. Example: a map of settings.
	CodeMapFields = leftOut + "map-fields"
	// CodeGroupFields: fields that are groups. Names is the fields. Example: a group of proto2.
	CodeGroupFields = leftOut + "group-fields"
	// CodeUndefinedFields: fields of a message that the schema lacks. Names is the fields. Example: a schema without its imports.
	CodeUndefinedFields = leftOut + "undefined-fields"
	// CodeRecursiveFields: messages in messages of their own kind. Names is the fields. Example: a tree.
	CodeRecursiveFields = leftOut + "recursive-fields"
	// CodeTwoTopics: its message id is that of another topic too. Example: a ULog with two subscriptions of id 3.
	CodeTwoTopics = leftOut + "two-topics"
	// CodeTwoIDs: it has two message ids. Example: a ULog that subscribes a topic twice.
	CodeTwoIDs = leftOut + "two-ids"
	// CodeBrokenDefinition: the definition of its messages is broken or missing. Example: a ULog whose formats are cut.
	CodeBrokenDefinition = leftOut + "broken-definition"
	// CodeUnreadSamples: none of its samples can be read. Example: samples that are shorter than their definition.
	CodeUnreadSamples = leftOut + "unread-samples"
	// CodeNoTimestamps: its samples have no timestamps. Example: a ULog topic without a field timestamp.
	CodeNoTimestamps = leftOut + "no-timestamps"
)

// Codes of ClassLeftOut that packages which use recordings add.
const (
	// CodeFramesNotAligned: frames of a camera, which a clock of numbers does not sample. Got is the encoding.
	// Example: 200 frames of h264.
	CodeFramesNotAligned = leftOut + "frames-not-aligned"
	// CodeCloudsNotAligned: point clouds, which a clock of numbers does not sample. Example: 50 clouds of a lidar.
	CodeCloudsNotAligned = leftOut + "clouds-not-aligned"
	// CodeDisorder: its timestamps step back or are no times. Cause is the error. Example: a timestamp earlier than the one before.
	CodeDisorder = leftOut + "disorder"
	// CodeTooFewTimes: fewer than two distinct timestamps. Example: a static transform.
	CodeTooFewTimes = leftOut + "too-few-times"
	// CodeSingleTimestamp: a single timestamp; a plan that names the stream holds its value. Example: a static transform.
	CodeSingleTimestamp = leftOut + "single-timestamp"
	// CodeNeverFinite: its values are never finite. Example: a sensor that was not connected.
	CodeNeverFinite = leftOut + "never-finite"
	// CodeOnlyIdentifiers: its columns are times and identifiers. Example: timestamp and device_id.
	CodeOnlyIdentifiers = leftOut + "only-identifiers"
	// CodeFewEpisodes: few of the episodes have it. Of is the number of episodes. Example: a stream of 1 of 5 episodes.
	CodeFewEpisodes = leftOut + "few-episodes"
	// CodeOfPrograms: by its name it is about the robot's programs and not about the robot. Example: /rosout.
	CodeOfPrograms = leftOut + "of-programs"
	// CodeNotState: by its name it is no state that a policy may see. Got is the kind that the name is of. Example: reward.
	CodeNotState = leftOut + "not-state"
	// CodeColumnsNotState: as CodeNotState, of the columns Names of a stream. Example: leader_joint of observation.state.
	CodeColumnsNotState = leftOut + "columns-not-state"
	// CodeConstant: its values never change. Example: a camera matrix.
	CodeConstant = leftOut + "constant"
	// CodeFewSamples: it has fewer samples than the others, of which a plan takes Want; Unit is who takes them.
	// Example: the 17th stream by samples.
	CodeFewSamples = leftOut + "few-samples"
	// CodeNameControl: its name or that of a column has control characters, which a plan file cannot hold.
	// Example: a name with a line break.
	CodeNameControl = leftOut + "name-control"
	// CodeStepTimes: its timestamps count steps, and the rate is unknown. Example: an HDF5 file without a rate.
	CodeStepTimes = leftOut + "step-times"
	// CodeCloudsNotPacked: point clouds, which a store does not hold. Example: the clouds of a lidar.
	CodeCloudsNotPacked = leftOut + "clouds-not-packed"
	// CodeNameTaken: another stream or camera has its name. Got is which. Example: a camera with the name of a stream.
	CodeNameTaken = leftOut + "name-taken"
	// CodeTimeRefused: a timestamp that is no time in nanoseconds. Got is the timestamp, Row its sample. Example: 1e300 s.
	CodeTimeRefused = leftOut + "time-refused"
	// CodeColumnsRefused: it has not the columns that were selected. Cause is the error. Example: a column that another episode has.
	CodeColumnsRefused = leftOut + "columns-refused"
	// CodeColumnsUnnamed: it has another number of unnamed columns than in other episodes. Got is its number, Want theirs.
	// Example: 7 columns, and then 8.
	CodeColumnsUnnamed = leftOut + "columns-unnamed"
	// CodeColumnsLacking: it lacks columns of other episodes. Names is the missing ones, Got its own. Example: x without y.
	CodeColumnsLacking = leftOut + "columns-lacking"
	// CodeQuaternionOrder: its quaternions have another order than in other episodes. Names is their columns.
	// Example: qw first, and then last.
	CodeQuaternionOrder = leftOut + "quaternion-order"
	// CodeFrameSize: its frames have another encoding or size than in other episodes. Got is its own, Want theirs.
	// Example: 320x240 pixels, and then 640x480.
	CodeFrameSize = leftOut + "frame-size"
	// CodeVideoNotPacked: a video that needs its file, so a store does not hold its frames. Got is the encoding.
	// Example: a video in an MP4 file.
	CodeVideoNotPacked = leftOut + "video-not-packed"
	// CodeEncodingUnknown: the encoding of its frames is unknown. Example: images of a topic without a format.
	CodeEncodingUnknown = leftOut + "encoding-unknown"
	// CodeFramesUnread: frames that cannot be read. Of is the number of frames, Cause the first error.
	// Example: 3 of 200 frames after a broken chunk.
	CodeFramesUnread = leftOut + "frames-unread"
	// CodeNoStreamOfName: the recording has no stream of the name. Example: a plan's stream that one episode lacks.
	CodeNoStreamOfName = leftOut + "no-stream-of-name"
	// CodeEpisodeRefused: an episode that a plan cannot take. Subject is its name, Cause the error.
	// Example: an episode with a single timestamp.
	CodeEpisodeRefused = leftOut + "episode-refused"
	// CodeCameraRefused: a camera of an episode that has no place on the clock. Subject is the episode, Got the camera, Cause the error.
	// Example: frames whose times step back.
	CodeCameraRefused = leftOut + "camera-refused"
	// CodeEpisodeShort: an episode with fewer ticks than a policy sees and predicts. Subject is the episode.
	// Example: got 3 ticks, want 17.
	CodeEpisodeShort = leftOut + "episode-short"
	// CodeNoPlace: a format has no place for it. Want is the format, Got what it is if the name does not say it.
	// Example: point clouds of LeRobot.
	CodeNoPlace = leftOut + "no-place"
	// CodeUnheld: a format cannot hold its values. Unit is the format, Got its values, Want what the format holds.
	// Example: a column of 2^64-1 in LeRobot.
	CodeUnheld = leftOut + "unheld"
	// CodeBeforeClock: samples before the clock begins. Example: a log that starts earlier than the others.
	CodeBeforeClock = leftOut + "before-clock"
	// CodeAfterClock: samples after the clock ends. Example: a log that ends later than the others.
	CodeAfterClock = leftOut + "after-clock"
	// CodeBetweenTicks: samples that no tick uses, because the stream is faster than the clock. Example: 200 Hz on a clock of 50 Hz.
	CodeBetweenTicks = leftOut + "between-ticks"
	// CodeStrayTime: samples with a timestamp far from all others. Example: 0 s before the clock was set.
	CodeStrayTime = leftOut + "stray-time"
	// CodeTimeInvalid: samples with a timestamp that is no time. Example: NaN.
	CodeTimeInvalid = leftOut + "time-invalid"
	// CodeNotInPlan: a plan does not take it. Example: a stream that a plan does not name.
	CodeNotInPlan = leftOut + "not-in-plan"
	// CodeNotSelected: an option does not select it. Example: a camera that --media does not name.
	CodeNotSelected = leftOut + "not-selected"
	// CodeNotInFirst: the first episode of a dataset, which declares its streams, does not have it.
	// Example: a camera that was added later.
	CodeNotInFirst = leftOut + "not-in-first"
	// CodeNotFiniteValue: a value that is not finite, which a policy's statistics cannot hold. Got is the value, Want its column.
	// Example: NaN in a joint.
	CodeNotFiniteValue = leftOut + "not-finite-value"
	// CodeFramesUndecoded: frames that cannot be decoded here. Got is their encoding, or Cause the error. Example: av1 without ffmpeg.
	CodeFramesUndecoded = leftOut + "frames-undecoded"
	// CodeDeepPixels: pixels of more than 8 bits, which a format cannot hold. Want is the format. Example: depth of 16 bits in LeRobot.
	CodeDeepPixels = leftOut + "deep-pixels"
	// CodeStreamRefused: a stream that a format cannot hold. Cause is the error. Example: a row of 10 MB.
	CodeStreamRefused = leftOut + "stream-refused"
	// CodeRecordingBroken: parts of the recording that are broken, which may have had it. Cause is the damage. Example: a log that is cut.
	CodeRecordingBroken = leftOut + "recording-broken"
	// CodeSplitOrder: a split whose episodes do not follow each other. Count is its episodes, Want their range. Example: episodes 0 and 2.
	CodeSplitOrder = leftOut + "split-order"
	// CodeTransactionOpen: the last transaction in a write-ahead log has no end. Subject is the file. Example: a recorder that was killed, or a copy that
	// was cut short.
	CodeTransactionOpen = leftOut + "transaction-open"
)
