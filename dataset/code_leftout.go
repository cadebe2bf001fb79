package dataset

// Codes of ClassLeftOut: data in a recording that no stream contains. Subject is its name in the file, Count the number of its
// elements or samples. "It" is the Subject.
const (
	// CodeNoSamples: a stream, camera or feature has no samples. Example: a feature in an episode without rows.
	CodeNoSamples = leftOut + "no-samples"
	// CodeNoMessages: a topic has no messages. Example: a topic that a recorder subscribed to while its publisher was off.
	CodeNoMessages = leftOut + "no-messages"
	// CodeNoValues: an array contains no numbers. Example: a column that is null in every row.
	CodeNoValues = leftOut + "no-values"
	// CodeNoColumns: an array or stream has no columns. Example: shape [200,0].
	CodeNoColumns = leftOut + "no-columns"
	// CodeUnsupported: the reader cannot read its type or format. Cause is the error. Example: an array of nested records.
	CodeUnsupported = leftOut + "unsupported"
	// CodeBroken: it is broken, and a note of ClassDamage counts it too. Cause is the error. Example: an array that ends
	// early.
	CodeBroken = leftOut + "broken"
	// CodeInvalidStream: its times and values cannot form a stream. Cause is the error. Example: a timestamp that is NaN.
	CodeInvalidStream = leftOut + "invalid-stream"
	// CodeArrayMismatch: its arrays contradict each other. Cause is the error. Example: 99 timestamps for 100 samples.
	CodeArrayMismatch = leftOut + "array-mismatch"
	// CodeArrayMissing: the stream lacks an array. Got is the array that was found, Names the missing one, Want the arrays
	// that could replace it. Example: values [9,2] without pose.times.
	CodeArrayMissing = leftOut + "array-missing"
	// CodeClockMismatch: the only clock in the archive has another length. Got is the array, Names the missing clock, Want the
	// clock that was found, Of its number of timestamps. Example: values [9,2], and time has 8 timestamps.
	CodeClockMismatch = leftOut + "clock-mismatch"
	// CodeClockField: its records have no field that can be their clock, or several. Got is the array, Want the usual clock
	// names, Names the fields. Example: records with the fields x and y.
	CodeClockField = leftOut + "clock-field"
	// CodeStreamName: its name is empty, is not UTF-8 or contains a zero byte. Got is the name. Example: an array with the
	// name ".values".
	CodeStreamName = leftOut + "stream-name"
	// CodeNoStream: an array belongs to no stream. Got is the array, Want the arrays that a stream has. Example: weights [3]
	// in an archive of streams.
	CodeNoStream = leftOut + "no-stream"
	// CodeOtherArray: another array already makes the stream with this name. Got is the array, Names the other one. Example:
	// pose next to pose.values.
	CodeOtherArray = leftOut + "other-array"
	// CodeBatchArray: an array for a batch, which only `robocache resample` reads. Got is the array. Example: lengths next to
	// values and times.
	CodeBatchArray = leftOut + "batch-array"
	// CodeClockArray: an array of target timestamps, which only `robocache fuse` reads. Got is the array. Example: targets
	// [100].
	CodeClockArray = leftOut + "clock-array"
	// CodeCloudArray: an array for a point cloud, which only `robocache voxelize` reads. Got is the array. Example: points
	// [500,3].
	CodeCloudArray = leftOut + "cloud-array"
	// CodeNotArray: a file in an archive is no array. Example: notes.txt in an .npz file.
	CodeNotArray = leftOut + "not-array"
	// CodeColumnNames: the column names are not strings, so columns have their indices as names. Got is the array. Example:
	// numbers as names.
	CodeColumnNames = leftOut + "column-names"
	// CodeMask: the mask for valid samples cannot be used, so all samples are taken. Got is the array or the value, or Cause
	// is the error. Example: a flag 2, where flags are 0 or 1.
	CodeMask = leftOut + "mask"
	// CodeMaskApplied: a mask stream that was applied to another stream, Got, and is therefore no stream itself. Example:
	// /tf.valid in a resampled log.
	CodeMaskApplied = leftOut + "mask-applied"
	// CodeValueType: its values are not numbers. Got is their type. Example: strings, or complex64.
	CodeValueType = leftOut + "value-type"
	// CodeValueShape: its values have a shape that neither a stream nor an image can have. Got is the shape, Want the shapes
	// that are possible. Example: [200,3,3] in an HDF5 file.
	CodeValueShape = leftOut + "value-shape"
	// CodeTooWide: it has more columns, fields or numbers than a stream may have. Want is the limit, Unit its unit, Got the
	// number if it is known. Example: records with 300 fields.
	CodeTooWide = leftOut + "too-wide"
	// CodeStepCount: an array has another number of rows than the episode has steps. Count is its rows, Of the steps. Example:
	// a camera matrix with 3 rows in an episode with 200 steps.
	CodeStepCount = leftOut + "step-count"
	// CodeSingleValue: it is one value, not a series. Example: the seed of a simulation.
	CodeSingleValue = leftOut + "single-value"
	// CodeAlias: it is a second name for data that is read under its first name. Example: a soft link in an HDF5 file.
	CodeAlias = leftOut + "alias"
	// CodeInitialState: the state before the first step, which has no timestamp. Example: initial_state in Isaac Lab.
	CodeInitialState = leftOut + "initial-state"
	// CodeFrameLengths: the byte lengths of encoded frames, which a decoder does not need. Example: compress_len in ALOHA.
	CodeFrameLengths = leftOut + "frame-lengths"
	// CodeNotImages: rows of bytes in place of encoded images. Example: raw bytes in observations/images.
	CodeNotImages = leftOut + "not-images"
	// CodeImageFormat: images with an unsupported encoding: not JPEG or PNG, nor TIFF for LeRobot. Got is the first bytes of
	// the first image, Row its index. Example: WebP images.
	CodeImageFormat = leftOut + "image-format"
	// CodeMixedImages: images with two encodings in one stream. Example: a camera with a JPEG image first and a PNG image
	// next.
	CodeMixedImages = leftOut + "mixed-images"
	// CodeFramesDiffer: Count frames in Of differ from the majority, Want, in size or encoding. Row is the first such frame,
	// Got its size and encoding. Example: a camera that changed its resolution.
	CodeFramesDiffer = leftOut + "frames-differ"
	// CodeEmptyImages: images that are null or have no bytes. Example: a camera that was off for 3 steps.
	CodeEmptyImages = leftOut + "empty-images"
	// CodeText: a text column. Example: labels in a CSV file.
	CodeText = leftOut + "text"
	// CodeEmptyColumn: a column without any number. Example: a CSV column between two commas in every line.
	CodeEmptyColumn = leftOut + "empty-column"
	// CodeEmptyFields: fields without a number become NaN. Example: three empty fields in a CSV file.
	CodeEmptyFields = leftOut + "empty-fields"
	// CodeNullRows: rows that are null become NaN. Example: a list that is null in two rows.
	CodeNullRows = leftOut + "null-rows"
	// CodeNullValues: values that are null become NaN. Example: two nulls in a Parquet column.
	CodeNullValues = leftOut + "null-values"
	// CodeNullTexts: texts that are null become empty. Example: a task that is null in one row.
	CodeNullTexts = leftOut + "null-texts"
	// CodeTextLists: lists of texts. Example: several labels in each row.
	CodeTextLists = leftOut + "text-lists"
	// CodeLongTexts: texts that change and together exceed the limit for an attribute, 64 kB. Example: a transcript in each
	// row.
	CodeLongTexts = leftOut + "long-texts"
	// CodeNotUTF8: bytes that should be text are not UTF-8. Row is the first such step. Example: an instruction in Latin-1.
	CodeNotUTF8 = leftOut + "not-utf8"
	// CodeRaggedRows: rows with different lengths. Got is the most frequent length. Example: rows with 7, 6 and 7 values.
	CodeRaggedRows = leftOut + "ragged-rows"
	// CodeMediaFileMissing: files of a camera are listed and missing. Names is the first. Example: a video that was not
	// copied.
	CodeMediaFileMissing = leftOut + "media-file-missing"
	// CodeOtherEncoding: images with another encoding than the first image, Want. Example: one .jpg among .png files.
	CodeOtherEncoding = leftOut + "other-encoding"
	// CodeOtherTrack: a track after the first video track in a file. Got is its kind. Example: the sound.
	CodeOtherTrack = leftOut + "other-track"
	// CodeVideoUnplaced: the dataset does not declare which file contains the video. Cause is the reason. Example: a row in
	// meta/episodes without the video's file.
	CodeVideoUnplaced = leftOut + "video-unplaced"
	// CodeFramesWithoutEpisode: frames in a shared video file that belong to no episode. Example: frames after the last
	// episode in the file.
	CodeFramesWithoutEpisode = leftOut + "frames-without-episode"
	// CodeUndeclared: a column or feature that the declaring file, Want, lacks. Example: a feature that features.json does not
	// list.
	CodeUndeclared = leftOut + "undeclared"
	// CodeNotInEpisode: a declared feature that this episode lacks. Example: an optional RLDS feature.
	CodeNotInEpisode = leftOut + "not-in-episode"
	// CodeOutsideSteps: a sequence outside the steps, or a step feature that is no sequence. Example: one list of way-points
	// per episode.
	CodeOutsideSteps = leftOut + "outside-steps"
	// CodeNestedSequence: a sequence inside a sequence that no stream can hold. Example: several texts in each step.
	CodeNestedSequence = leftOut + "nested-sequence"
	// CodeFeatureClass: a feature with an unsupported class. Got is the class. Example: Translation.
	CodeFeatureClass = leftOut + "feature-class"
	// CodeValueEncoding: values with an unsupported encoding. Got is the encoding. Example: lzma.
	CodeValueEncoding = leftOut + "value-encoding"
	// CodeOpenShape: a shape with several open dimensions. Example: [null,null,3].
	CodeOpenShape = leftOut + "open-shape"
	// CodeEpisodeImage: an image for the whole episode instead of a step. Example: a picture that shows the goal.
	CodeEpisodeImage = leftOut + "episode-image"
	// CodeEpisodeArray: an array for the whole episode that is too large for an attribute. Want is the largest number of
	// elements. Example: a map with 1000 numbers.
	CodeEpisodeArray = leftOut + "episode-array"
	// CodeTooLong: a record is longer than the reader's limit. Bytes is its size. Example: metadata with 2 MB.
	CodeTooLong = leftOut + "too-long"
	// CodeAnnotationsWithoutFrames: annotations for frames that are all missing. Example: a sentence about frames that were
	// not copied.
	CodeAnnotationsWithoutFrames = leftOut + "annotations-without-frames"
	// CodeEmbeddings: text embeddings. Got is the array for each text. Example: 384 numbers per sentence.
	CodeEmbeddings = leftOut + "embeddings"
	// CodeNotPoints: elements in a point cloud file that are not points, or point properties that are not numbers. Example:
	// the faces of a mesh.
	CodeNotPoints = leftOut + "not-points"
)

// Codes of ClassLeftOut that readers of logs add: messages and their fields. Subject is the topic.
const (
	// CodeUndecodedMessages: messages that cannot be decoded. Cause is the first error. Example: messages that end early.
	CodeUndecodedMessages = leftOut + "undecoded-messages"
	// CodeNoDecoder: no decoder can be made for the topic. Cause is the error. Example: a schema that cannot be read.
	CodeNoDecoder = leftOut + "no-decoder"
	// CodeNoFit: every message contradicts the declared type, Got. Example: messages from an older definition.
	CodeNoFit = leftOut + "no-fit"
	// CodeUndefinedType: the recording lacks the definition of a type, Got. Example: a bag with messages from a package that
	// is not installed.
	CodeUndefinedType = leftOut + "undefined-type"
	// CodeSparseMessages: the messages lack most fields, so a dense array would take more than Want times their memory.
	// Example: JSON messages with one field each.
	CodeSparseMessages = leftOut + "sparse-messages"
	// CodeNoNumbers: messages without numeric fields. Example: std_msgs/Empty.
	CodeNoNumbers = leftOut + "no-numbers"
	// CodeNoElements: a list that is empty in every message. Example: a trajectory that is never filled.
	CodeNoElements = leftOut + "no-elements"
	// CodeData: a byte array. Got is the number of bytes per message. Example: the payload of a serial port.
	CodeData = leftOut + "data"
	// CodeLabelSetLimit: a name list has more different sets of names than the limit, Want. Got is the field. Example: joint
	// names that change in each message.
	CodeLabelSetLimit = leftOut + "label-set-limit"
	// CodeLabelsChange: a name list changes between messages and does not name every element. Got is the field. Example: 5
	// names for 7 positions.
	CodeLabelsChange = leftOut + "labels-change"
	// CodeListLength: a list changes its length between messages. Got is the range of lengths. Example: 3 to 5 detections.
	CodeListLength = leftOut + "list-length"
	// CodeTextFields: text fields. Names are the fields. Example: frame_id.
	CodeTextFields = leftOut + "text-fields"
	// CodeNullFields: fields that are null in every message. Names are the fields. Example: a JSON field with null.
	CodeNullFields = leftOut + "null-fields"
	// CodeByteFields: byte fields. Names are the fields. Example: the payload of a packet.
	CodeByteFields = leftOut + "byte-fields"
	// CodeFieldLimit: fields after the column limit. Names are the fields. Example: the last fields in a message with 5000
	// numbers.
	CodeFieldLimit = leftOut + "field-limit"
	// CodeMixedFields: fields with values of several types. Names are the fields. Example: a JSON field with a number in one
	// message and a text in the next.
	CodeMixedFields = leftOut + "mixed-fields"
	// CodeNestedArrays: arrays inside arrays. Names are the fields. Example: the points in each trajectory.
	CodeNestedArrays = leftOut + "nested-arrays"
	// CodeArraysWithoutNumbers: arrays with elements that contain no numbers. Names are the fields. Example: a list of names.
	CodeArraysWithoutNumbers = leftOut + "arrays-without-numbers"
	// CodeHeaderRest: header fields other than stamp. Names are the fields. Example: header.seq.
	CodeHeaderRest = leftOut + "header-rest"
	// CodeLayoutFields: fields that describe the layout of an array. Names are the fields. Example: layout in
	// std_msgs/Float32MultiArray.
	CodeLayoutFields = leftOut + "layout-fields"
	// CodeWideArrays: arrays with more elements than a stream may have columns. Names are the fields. Example: a grid with
	// 10000 cells.
	CodeWideArrays = leftOut + "wide-arrays"
	// CodeMapFields: map fields. Names are the fields. Example: a map from setting to value.
	CodeMapFields = leftOut + "map-fields"
	// CodeGroupFields: proto2 group fields. Names are the fields. Example: optional group Pose.
	CodeGroupFields = leftOut + "group-fields"
	// CodeUndefinedFields: fields with a message type that the schema lacks. Names are the fields. Example: a schema without
	// its imports.
	CodeUndefinedFields = leftOut + "undefined-fields"
	// CodeRecursiveFields: message types that contain themselves. Names are the fields. Example: the nodes in a tree.
	CodeRecursiveFields = leftOut + "recursive-fields"
	// CodeTwoTopics: its message id also belongs to another topic. Example: a ULog file with two subscriptions for id 3.
	CodeTwoTopics = leftOut + "two-topics"
	// CodeTwoIDs: it has two message ids. Example: a ULog file that subscribes one topic instance twice.
	CodeTwoIDs = leftOut + "two-ids"
	// CodeBrokenDefinition: the definition of its messages is broken or missing. Example: a ULog file with formats that are cut.
	CodeBrokenDefinition = leftOut + "broken-definition"
	// CodeUnreadSamples: none of its samples can be read. Example: samples that are shorter than their definition.
	CodeUnreadSamples = leftOut + "unread-samples"
	// CodeNoTimestamps: its samples have no timestamps. Example: a ULog topic without the field timestamp.
	CodeNoTimestamps = leftOut + "no-timestamps"
)

// Codes of ClassLeftOut that packages which use recordings add.
const (
	// CodeFramesNotAligned: camera frames, which cannot be resampled like numbers. Got is the encoding. Example: 200 h264
	// frames.
	CodeFramesNotAligned = leftOut + "frames-not-aligned"
	// CodeCloudsNotAligned: point clouds, which cannot be resampled like numbers. Example: 50 clouds from a lidar.
	CodeCloudsNotAligned = leftOut + "clouds-not-aligned"
	// CodeDisorder: its timestamps step back or are not finite. Cause is the error. Example: a timestamp earlier than the
	// previous one.
	CodeDisorder = leftOut + "disorder"
	// CodeTooFewTimes: it has fewer than two distinct timestamps. Example: a static transform.
	CodeTooFewTimes = leftOut + "too-few-times"
	// CodeSingleTimestamp: it has a single timestamp. If a plan names the stream, its value is held for the whole clock.
	// Example: a static transform.
	CodeSingleTimestamp = leftOut + "single-timestamp"
	// CodeNeverFinite: its values are never finite. Example: a sensor that was not connected.
	CodeNeverFinite = leftOut + "never-finite"
	// CodeOnlyIdentifiers: its columns are times and identifiers only. Example: timestamp and device_id.
	CodeOnlyIdentifiers = leftOut + "only-identifiers"
	// CodeFewEpisodes: only Count episodes in Of have it. Example: a stream in 1 of 5 episodes.
	CodeFewEpisodes = leftOut + "few-episodes"
	// CodeOfPrograms: its name shows that it is about the robot's software instead of the robot. Example: /rosout.
	CodeOfPrograms = leftOut + "of-programs"
	// CodeNotState: its name shows that a policy must not see it. Got is the kind of data. Example: reward.
	CodeNotState = leftOut + "not-state"
	// CodeColumnsNotState: like CodeNotState, for the columns Names in a stream. Example: leader_joint in observation.state.
	CodeColumnsNotState = leftOut + "columns-not-state"
	// CodeConstant: its values never change. Example: a camera matrix.
	CodeConstant = leftOut + "constant"
	// CodeFewSamples: it has fewer samples than the streams that were taken, because a plan takes at most Want. Unit is the
	// operation with this limit. Example: the 17th stream by sample count.
	CodeFewSamples = leftOut + "few-samples"
	// CodeNameControl: its name or a column name contains control characters, which a plan file cannot hold. Example: a name
	// with a line break.
	CodeNameControl = leftOut + "name-control"
	// CodeStepTimes: its timestamps count steps, and the rate is unknown. Example: an HDF5 file without a rate.
	CodeStepTimes = leftOut + "step-times"
	// CodeCloudsNotPacked: point clouds, which a packed dataset does not hold. Example: the clouds from a lidar.
	CodeCloudsNotPacked = leftOut + "clouds-not-packed"
	// CodeNameTaken: another stream or camera has its name. Got is the other one. Example: a camera and a stream that are both
	// called wrist.
	CodeNameTaken = leftOut + "name-taken"
	// CodeTimeRefused: a timestamp cannot be converted to nanoseconds. Got is the timestamp, Row its sample. Example: 1e300 s.
	CodeTimeRefused = leftOut + "time-refused"
	// CodeColumnsRefused: it lacks columns that were selected. Cause is the error. Example: a column that only another episode
	// has.
	CodeColumnsRefused = leftOut + "columns-refused"
	// CodeColumnsUnnamed: it has unnamed columns, and their number differs between episodes. Got is its number, Want the other
	// episodes' number. Example: 7 columns, and then 8.
	CodeColumnsUnnamed = leftOut + "columns-unnamed"
	// CodeColumnsLacking: it lacks columns that other episodes have. Names are the missing columns, Got its own. Example: x
	// without y.
	CodeColumnsLacking = leftOut + "columns-lacking"
	// CodeQuaternionOrder: its quaternions have another order than in other episodes. Names are their columns. Example: qw
	// first in one episode and last in the next.
	CodeQuaternionOrder = leftOut + "quaternion-order"
	// CodeFrameSize: its frames have another encoding or size than in other episodes. Got is its own, Want theirs. Example:
	// 320x240 pixels, and then 640x480.
	CodeFrameSize = leftOut + "frame-size"
	// CodeVideoNotPacked: a packed dataset does not hold its frames, because they can only be decoded from the video file. Got
	// is the encoding. Example: an MP4 file.
	CodeVideoNotPacked = leftOut + "video-not-packed"
	// CodeEncodingUnknown: the encoding of its frames is unknown. Example: images on a topic without a format field.
	CodeEncodingUnknown = leftOut + "encoding-unknown"
	// CodeFramesUnread: frames that cannot be read. Of is the number of frames, Cause the first error. Example: 3 frames in
	// 200, after a broken chunk.
	CodeFramesUnread = leftOut + "frames-unread"
	// CodeNoStreamOfName: the recording has no stream with this name. Example: a stream in a plan that one episode lacks.
	CodeNoStreamOfName = leftOut + "no-stream-of-name"
	// CodeEpisodeRefused: a plan cannot use the episode. Subject is its name, Cause the error. Example: an episode with a
	// single timestamp.
	CodeEpisodeRefused = leftOut + "episode-refused"
	// CodeCameraRefused: an episode's camera cannot be placed on the clock. Subject is the episode, Got the camera, Cause the
	// error. Example: frame times that step back.
	CodeCameraRefused = leftOut + "camera-refused"
	// CodeEpisodeShort: an episode has fewer ticks than a policy sees and predicts. Subject is the episode, Got its ticks,
	// Want the least number. Example: 3 ticks where 17 are needed.
	CodeEpisodeShort = leftOut + "episode-short"
	// CodeNoPlace: the output format cannot hold this kind of data. Want is the format, Got the kind if the name does not show
	// it. Example: point clouds in LeRobot.
	CodeNoPlace = leftOut + "no-place"
	// CodeUnheld: the output format cannot hold its values. Unit is the format, Got the values, Want the range of the format.
	// Example: a column with 2^64-1 in LeRobot.
	CodeUnheld = leftOut + "unheld"
	// CodeBeforeClock: samples before the clock begins. Example: a log that starts earlier than the others.
	CodeBeforeClock = leftOut + "before-clock"
	// CodeAfterClock: samples after the clock ends. Example: a log that ends later than the others.
	CodeAfterClock = leftOut + "after-clock"
	// CodeBetweenTicks: samples that no tick uses, because the stream is faster than the clock. Example: 200 Hz on a clock
	// with 50 Hz.
	CodeBetweenTicks = leftOut + "between-ticks"
	// CodeStrayTime: samples with a timestamp far from all others. Example: 0 s before the clock was set.
	CodeStrayTime = leftOut + "stray-time"
	// CodeTimeInvalid: samples with a timestamp that is not a time. Example: NaN.
	CodeTimeInvalid = leftOut + "time-invalid"
	// CodeNotInPlan: the plan does not name it. Example: /battery with a plan for /joint_states.
	CodeNotInPlan = leftOut + "not-in-plan"
	// CodeNotSelected: an option selects others. Example: the camera wrist with --media front.
	CodeNotSelected = leftOut + "not-selected"
	// CodeNotInFirst: the first episode declares the streams of the output and lacks it. Example: a camera that was added
	// later.
	CodeNotInFirst = leftOut + "not-in-first"
	// CodeNotFiniteValue: a value is not finite, so a policy cannot compute statistics. Got is the value, Want its column.
	// Example: NaN in a joint.
	CodeNotFiniteValue = leftOut + "not-finite-value"
	// CodeFramesUndecoded: frames that cannot be decoded here. Got is their encoding, or Cause the error. Example: av1 without
	// ffmpeg.
	CodeFramesUndecoded = leftOut + "frames-undecoded"
	// CodeDeepPixels: pixels with more than 8 bits, which the output format cannot hold. Want is the format. Example: 16-bit
	// depth in LeRobot.
	CodeDeepPixels = leftOut + "deep-pixels"
	// CodeStreamRefused: the output format cannot hold the stream. Cause is the error. Example: a row with 10 MB.
	CodeStreamRefused = leftOut + "stream-refused"
	// CodeRecordingBroken: the recording is broken, and the broken parts may have contained it. Cause is the damage. Example:
	// a log that is cut.
	CodeRecordingBroken = leftOut + "recording-broken"
	// CodeSplitOrder: a split is not written, because its episodes are not consecutive. Count is its episodes, Want their
	// range. Example: episodes 0 and 2.
	CodeSplitOrder = leftOut + "split-order"
	// CodeTransactionOpen: the last transaction in a write-ahead log was never committed. Subject is the file. Example: a
	// recorder that was killed.
	CodeTransactionOpen = leftOut + "transaction-open"
)
