package dataset

// Codes of ClassRemark: choices and changed values. Subject is the affected stream, or the topic that it comes from.
const (
	// CodeLogClock: the messages on a topic have no header, so its clock is the log time. Example: clock header with a topic
	// of std_msgs/String.
	CodeLogClock = remark + "log-clock"
	// CodeHeaderTimeNone: every header on a topic has the timestamp 0, so the clock is the log time. Example: a driver that
	// leaves stamp unset.
	CodeHeaderTimeNone = remark + "header-time-none"
	// CodeHeaderTimeZero: Count headers in Of on a topic have the timestamp 0. Example: a driver that starts before its clock
	// is set.
	CodeHeaderTimeZero = remark + "header-time-zero"
	// CodePublishTimeNone: the publish time equals the log time in every message. Example: clock publish with a converted ROS
	// 1 bag.
	CodePublishTimeNone = remark + "publish-time-none"
	// CodeHeaderFields: no stream has the header fields frame_id and seq. Example: /imu with sensor_msgs/Imu.
	CodeHeaderFields = remark + "header-fields"
	// CodeFrameParents: coordinate frames move relative to their parents. Names are "CHILD in PARENT". Example: "base in map"
	// in /tf.
	CodeFrameParents = remark + "frame-parents"
	// CodeMessagesEmpty: Count messages in Of have an empty list and make no rows. Example: position in a JointState without
	// joints.
	CodeMessagesEmpty = remark + "messages-empty"
	// CodeRowsWithoutTask: Count rows or windows in Of come before the first task text and have no task. Example: a topic
	// /task that begins 2 s late.
	CodeRowsWithoutTask = remark + "rows-without-task"
	// CodePublishersAlternate: several publishers, Names, send on one topic in turn: Count times in Of messages an earlier
	// publisher continues. Example: two nodes on /cmd_vel.
	CodePublishersAlternate = remark + "publishers-alternate"
	// CodeListsPadded: Count messages in Of have a list shorter than the longest, Want; NaN fills the rest. Got is the range
	// of lengths. Example: laser scans with 1147 to 1150 ranges.
	CodeListsPadded = remark + "lists-padded"
	// CodeMessageSurplus: Count messages in Of have extra bytes after their last field, Bytes in total, which are ignored as
	// ROS does. Example: std_msgs/Float32 with 5 bytes.
	CodeMessageSurplus = remark + "message-surplus"
	// CodeChunksAbsent: Count chunks in Of have no file, so their numbers are the array's fill value. Names is the first file.
	// Example: data/state/37.0 in a zarr dataset that was not copied whole, or if the writer omits zeros.
	CodeChunksAbsent = remark + "chunks-absent"
	// CodeLabelsUnusable: the names in the field Got are empty, repeated or too long, so columns have numbers. Example: two
	// joints with the name "a".
	CodeLabelsUnusable = remark + "labels-unusable"
	// CodeLabelsPartial: some messages have no names in the field Got, so columns have numbers. Example: a JointState with
	// positions and no names.
	CodeLabelsPartial = remark + "labels-partial"
	// CodeLabelsReordered: messages list the names in the field Got in several orders; the columns have one order. Example:
	// joints "a, b", then "b, a".
	CodeLabelsReordered = remark + "labels-reordered"
	// CodeLabelSets: the field Got has Of different sets of names, and each makes a stream. Example: /joint_states with an arm
	// and a gripper.
	CodeLabelSets = remark + "label-sets"
	// CodeFramesBeforeKey: the first Count frames in Of come before a key frame and cannot be decoded. Example: a recording
	// that starts inside a group of h264 pictures.
	CodeFramesBeforeKey = remark + "frames-before-key"
	// CodeFramesWithoutKey: none of the Count frames is a key frame, so none can be decoded. Example: a recording shorter than
	// a group of h264 pictures.
	CodeFramesWithoutKey = remark + "frames-without-key"
	// CodeMessageCount: the file Names declares Want messages, and the recording has Got. Example: metadata.yaml of a bag that
	// was cut.
	CodeMessageCount = remark + "message-count"
	// CodeTimeRange: metadata.yaml declares the time range Want, and the messages have Got, in Unit. Example: a bag with a
	// replaced file.
	CodeTimeRange = remark + "time-range"
	// CodeDefinitionsAssumed: a bag lacks message definitions, so the reader uses those from the ROS distribution Got, which
	// wrote the bag. Example: a Humble bag.
	CodeDefinitionsAssumed = remark + "definitions-assumed"
	// CodeDefinitionsNewest: like CodeDefinitionsAssumed, but Got is the newest distribution, because Want, which wrote the
	// bag, is unknown. Example: a bag without ros_distro.
	CodeDefinitionsNewest = remark + "definitions-newest"
	// CodeDefinitionsFitting: like CodeDefinitionsNewest, but Got is the newest distribution that fits the messages. Example:
	// a Galactic bag without ros_distro.
	CodeDefinitionsFitting = remark + "definitions-fitting"
	// CodeDefinitionsUnfit: like CodeDefinitionsNewest, but some messages fit no distribution. Example: a vendor's own version
	// of sensor_msgs.
	CodeDefinitionsUnfit = remark + "definitions-unfit"
	// CodeDefinitionReplaced: the messages contradict the bag's definition of the type Got and fit another version. Example:
	// an Iron bag with older messages.
	CodeDefinitionReplaced = remark + "definition-replaced"
	// CodePiecesAssumed: the files Names are read as one recording by their names. Want is the missing list, if the format has
	// one. Example: run_0.mcap and run_1.mcap without metadata.yaml.
	CodePiecesAssumed = remark + "pieces-assumed"
	// CodeFrameTimeOwn: Count timestamps differ from frame_index/fps and are the clock. The first is at Row with Got instead
	// of Want, in Unit; Names are the clocks to choose from. Example: row 0 at 0.05 s instead of 0 s.
	CodeFrameTimeOwn = remark + "frame-time-own"
	// CodeFrameTimeSteps: like CodeFrameTimeOwn, but by a constant, so the clock is frame_index/fps from the first timestamp
	// on. Example: an episode that was cut from a longer one and begins at 41.2 s.
	CodeFrameTimeSteps = remark + "frame-time-steps"
	// CodeFrameTimeUnsorted: like CodeFrameTimeOwn, but the timestamps do not ascend, so they are not the clock. Example: a
	// table with shuffled rows.
	CodeFrameTimeUnsorted = remark + "frame-time-unsorted"
	// CodeValuesCast: Count values in Of change, because they are cast from the type Got to the type Want, which the dataset
	// declares or stores. Example: float64 in a table and float32 in meta/info.json.
	CodeValuesCast = remark + "values-cast"
	// CodeFramesHeld: Count rows in Of have a frame that cannot be decoded and show the frame before it, or else the first
	// good frame. Row is the first, Cause its error. Example: a JPEG that a driver cut.
	CodeFramesHeld = remark + "frames-held"
	// CodeClockAssumed: Count rows have no clock of their own and use the clock Got, which has the same length. Example: q
	// [20] next to joint/timestamps [20].
	CodeClockAssumed = remark + "clock-assumed"
	// CodeRowsNotValid: Count rows of a stream are marked invalid and were left out. Example: rows in a gap of a resampled
	// stream.
	CodeRowsNotValid = remark + "rows-not-valid"
)

// Codes of ClassRemark that package align adds.
const (
	// CodeStrayLeftOut: a timestamp, Got, is far from the others, by Want, so Count samples were left out. Example: 0 s before
	// the clock was set.
	CodeStrayLeftOut = remark + "stray-left-out"
	// CodeStrayFollowed: like CodeStrayLeftOut, but the clock's range includes the timestamp. Example: range union.
	CodeStrayFollowed = remark + "stray-followed"
	// CodeStrayTaken: like CodeStrayLeftOut, but the sample was used. Example: a plan with its own target timestamps.
	CodeStrayTaken = remark + "stray-taken"
	// CodeStrayIgnored: like CodeStrayLeftOut, but the sample stays, and the clock's range ignores it. Example: a row in a
	// batch.
	CodeStrayIgnored = remark + "stray-ignored"
	// CodeStrayUnset: like CodeStrayLeftOut, for a recording that is not resampled. Example: a plan is suggested for a clock
	// that was not set.
	CodeStrayUnset = remark + "stray-unset"
	// CodeClockJump: the clock jumps by Got s after sample Row, although all other samples lie within Want s. Example: a clock
	// that was set during the recording.
	CodeClockJump = remark + "clock-jump"
	// CodeRangeEmpty: no stream has samples in the chosen range; the streams cover Got to Want s. Example: range 100s to 200s
	// in a recording of 60 s.
	CodeRangeEmpty = remark + "range-empty"
	// CodeRangeNotNarrowed: the range is not narrowed, because no stream that may narrow it covers half of the recording.
	// Example: two topics that each cover a third.
	CodeRangeNotNarrowed = remark + "range-not-narrowed"
	// CodeRangeDisjoint: the streams have no time in common, Cause shows which, so the clock covers all. Example: two
	// computers with different clocks.
	CodeRangeDisjoint = remark + "range-disjoint"
	// CodeStatisticsNeeded: the normalisation Got was not applied, because it needs the dataset's statistics. Example:
	// mean-std.
	CodeStatisticsNeeded = remark + "statistics-needed"
	// CodeBackSteps: Count steps back in time were sorted. Example: two publishers on one topic.
	CodeBackSteps = remark + "back-steps"
	// CodeOtherStretches: Count messages of a log were not read, because they lie outside stretch Got (from 1) of Of. Example:
	// a clock that was set back once makes two stretches.
	CodeOtherStretches = remark + "other-stretches"
	// CodeClockStill: all Count timestamps on the clock Got are Unit ns. Want is another clock that moves, or empty. Example: a log
	// time that is always 0.
	CodeClockStill = remark + "clock-still"
	// CodeHeaderEpoch: header times and log times have different epochs or units. Got is the first header time, Want the first
	// log time, in ns, Unit the smaller one's unit if it is known. Example: 1.7e12, which is milliseconds since 1970.
	CodeHeaderEpoch = remark + "header-epoch"
	// CodeHeaderDrift: the log time minus the header time changes by Got within Want, which is Unit percent. Example: a sensor
	// with a slow clock.
	CodeHeaderDrift = remark + "header-drift"
	// CodeHeaderLatency: messages are recorded Got after their header time; messages on the topics Names after Want. Example:
	// a lidar that sends 250 ms late.
	CodeHeaderLatency = remark + "header-latency"
	// CodeTimeless: Count samples have no time and were left out. Example: a timestamp that is NaN.
	CodeTimeless = remark + "timeless"
	// CodeNeverValid: a stream is valid at none of the Count target timestamps. Example: a stream that ends before the clock
	// begins.
	CodeNeverValid = remark + "never-valid"
	// CodeTimeUnit: read as ns, the timestamps give Got samples a second; read as Unit they would give Want. Example: 1e+05 a
	// second, or 100 if they are microseconds.
	CodeTimeUnit = remark + "time-unit"
	// CodeAngleUnit: an angle column in radians reaches Got and changes by up to Want at once, as degrees do. Example: a
	// heading up to 359.9.
	CodeAngleUnit = remark + "angle-unit"
	// CodeTimesCoarse: timestamps are multiples of Unit, so Count targets in Of miss their sample by up to Got; a snap of Want
	// mends it. Example: 1ms.
	CodeTimesCoarse = remark + "times-coarse"
	// CodeNotFinite: Count samples in Of are not finite and are resampled as they are. Example: NaN from a range sensor
	// without an echo.
	CodeNotFinite = remark + "not-finite"
	// CodeToleranceUnused: the tolerance has no effect, because no stream has a method that uses it. Example: a tolerance with
	// method linear.
	CodeToleranceUnused = remark + "tolerance-unused"
	// CodePeriodUnused: the period has no effect, because no column has the method angle. Example: a period of 360 with method
	// linear.
	CodePeriodUnused = remark + "period-unused"
	// CodeQuatUnused: the quaternion order has no effect, because no column has the method slerp. Example: quat wxyz with
	// joint positions only.
	CodeQuatUnused = remark + "quat-unused"
	// CodeWindowUnused: the window has no effect, because no column has a windowed method. Example: a window of 20ms with
	// method linear.
	CodeWindowUnused = remark + "window-unused"
	// CodeExtrapolateUnused: the edge mode extrapolate has no effect, because no column has the method linear. Example: edge
	// extrapolate with method previous.
	CodeExtrapolateUnused = remark + "extrapolate-unused"
	// CodeFillGapsUnused: fill_gaps has no effect, because no limit makes a gap. Example: fill_gaps without max_gap.
	CodeFillGapsUnused = remark + "fill-gaps-unused"
	// CodeFillUnused: the fill value is never written. Example: a fill of -7 with edge clamp.
	CodeFillUnused = remark + "fill-unused"
	// CodeKindUnused: no column uses the method Got. Example: method linear with whole numbers only.
	CodeKindUnused = remark + "kind-unused"
	// CodeKindGroups: the method Got needs groups of Want columns, and no stream declares them. Example: slerp for columns x,
	// y, z and w.
	CodeKindGroups = remark + "kind-groups"
	// CodeSuggestedWithout: a plan was suggested without the episode with number Row, because Cause prevents reading it.
	// Example: a file that is cut.
	CodeSuggestedWithout = remark + "suggested-without"
	// CodeStreamsDiffer: no stream occurs in half of the Count episodes that were read. Example: a folder with recordings from
	// several robots.
	CodeStreamsDiffer = remark + "streams-differ"
	// CodeClocksApart: in Count episodes in Of, samples are Got or more away from the samples of Names, with no common time.
	// Example: two computers with different clocks.
	CodeClocksApart = remark + "clocks-apart"
)

// Codes of ClassRemark of a dataset.
const (
	// CodeChunkShort: a policy predicts Count action ticks instead of Of, because episodes are short: nine in ten have Got
	// ticks or more. Example: 10 instead of 16.
	CodeChunkShort = remark + "chunk-short"
	// CodeCloudUnread: the first cloud in a series cannot be read, because of Cause. Example: a message that is cut.
	CodeCloudUnread = remark + "cloud-unread"
	// CodeIntegersRounded: Count whole numbers are rounded, because the type Got cannot hold them. Example: nanoseconds since
	// 1970 in float64.
	CodeIntegersRounded = remark + "integers-rounded"
	// CodeNotFiniteDrawn: Count samples in Of are not finite; batches contain them, and statistics do not. Example: NaN from a
	// sensor without an echo.
	CodeNotFiniteDrawn = remark + "not-finite-drawn"
	// CodeWindowsInGaps: Count windows in Of have their anchor in a gap of a stream, and its values there count as valid
	// because no max_gap is set. Example: a hole of 10 s.
	CodeWindowsInGaps = remark + "windows-in-gaps"
	// CodePackedDisorder: the timestamps of a packed stream do not ascend; Cause is the place. Example: two publishers on one
	// topic.
	CodePackedDisorder = remark + "packed-disorder"
	// CodeWindowsNone: the plan has no windows, so each stream has only the anchor tick. Want is an example for windows.
	// Example: a plan for resampling.
	CodeWindowsNone = remark + "windows-none"
	// CodeRateDeclared: the batches use the dataset's declared rate, Got Hz, as their clock. Example: fps in meta/info.json.
	CodeRateDeclared = remark + "rate-declared"
	// CodePlanCamera: a stream in the plan is the camera Got, so it is not drawn as numbers. Example: observation.images.top.
	CodePlanCamera = remark + "plan-camera"
	// CodeStatisticsUnused: statistics for the streams Names are not used, because the batches lack these streams. Example:
	// timestamp.
	CodeStatisticsUnused = remark + "statistics-unused"
	// CodeStepsOnly: timestamps count steps, because the recordings have no times. Example: a robomimic HDF5 file.
	CodeStepsOnly = remark + "steps-only"
)

// Codes of ClassRemark that package convert adds.
const (
	// CodeMediaMissing: an episode lacks a selected camera. Example: --media front, and one recording has no such camera.
	CodeMediaMissing = remark + "media-missing"
	// CodeFramesJPEG: video frames are written as JPEG with the quality Got. Example: a LeRobot camera in an MCAP file.
	CodeFramesJPEG = remark + "frames-jpeg"
	// CodeFramesEncoded: frames are encoded as Got. Example: images from a log in a LeRobot dataset.
	CodeFramesEncoded = remark + "frames-encoded"
	// CodeFramesMoved: the frames of a copied video get the times of their rows. Example: a video that starts 10 ms after its
	// episode.
	CodeFramesMoved = remark + "frames-moved"
	// CodeEventsMoved: the events of Count rows are in the next written row. Example: 30 Hz converted to a clock of 10 Hz.
	CodeEventsMoved = remark + "events-moved"
	// CodeListTimes: timestamps in the lists of Count rows count from the recording's first row, Got s before the first written
	// row. Example: the first row has no value.
	CodeListTimes = remark + "list-times"
	// CodeNameUnused: an option names a stream that does not exist. Example: --name stat=observation.state for a dataset
	// without stat.
	CodeNameUnused = remark + "name-unused"
	// CodeInputsDiffer: the inputs have different values, so none is written. Subject is the file or the key. Example:
	// meta/modality.json, for two robots.
	CodeInputsDiffer = remark + "inputs-differ"
	// CodeModalityUnread: meta/modality.json, or its part Subject, cannot be read, because of Cause. Example: a file that is
	// cut.
	CodeModalityUnread = remark + "modality-unread"
	// CodeModalityMissing: a part of meta/modality.json refers to Got, which the output lacks. Example: a camera that was left
	// out.
	CodeModalityMissing = remark + "modality-missing"
	// CodeModalityRenamed: a part of meta/modality.json refers to Got, which the plan renames to Want. Example:
	// observation.state from action.
	CodeModalityRenamed = remark + "modality-renamed"
	// CodeModalityReplaced: a part of meta/modality.json refers to Got, which the conversion makes anew. Example: --action
	// joints.
	CodeModalityReplaced = remark + "modality-replaced"
	// CodeModalityColumns: a part of meta/modality.json refers to Got, which has other columns in the output. Example: a plan
	// that selects columns.
	CodeModalityColumns = remark + "modality-columns"
)

// Codes of ClassRemark that package loader adds. Names are the columns.
const (
	// CodeColumnsReordered: the columns come in another order than in the first episode. Example: "b, a" after "a, b".
	CodeColumnsReordered = remark + "columns-reordered"
	// CodeColumnsExtra: the first episode lacks these columns, so they are left out. Example: a gripper that was added later.
	CodeColumnsExtra = remark + "columns-extra"
	// CodeColumnsFractional: the columns have fractions here and whole numbers in the first episode. Example: a gripper with 0
	// and 1, then 0.5.
	CodeColumnsFractional = remark + "columns-fractional"
	// CodeColumnsWhole: the columns have whole numbers here and fractions in the first episode. Example: a gripper with 0.5,
	// then 0 and 1.
	CodeColumnsWhole = remark + "columns-whole"
)

// Codes of ClassRemark that package align/depth adds to a stream of points. Count is a number of its Of depth images.
const (
	// CodeDepthUnposed: images without a pose are left out. Example: images before the first sample of groundtruth.txt.
	CodeDepthUnposed = remark + "depth-unposed"
	// CodeDepthUnread: images that cannot be read are left out; Cause is the first error. Example: a png that was cut.
	CodeDepthUnread = remark + "depth-unread"
	// CodePointsNone: images without a point in the box are left out. Example: a hand in front of the camera.
	CodePointsNone = remark + "points-none"
	// CodePointsFew: images have fewer points than Want, so their first point repeats. Example: a box around a small object.
	CodePointsFew = remark + "points-few"
	// CodePointsOutside: Count of the stream's Of points are in no cell of its grid. Example: points on the box's upper corner.
	CodePointsOutside = remark + "points-outside"
	// CodeDistortionIgnored: the camera has lens distortion, which is not corrected. Example: D in camera_info.
	CodeDistortionIgnored = remark + "distortion-ignored"
)
