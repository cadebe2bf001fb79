package dataset

// Codes of ClassRemark: choices and changes of values. Subject is the stream that is concerned, or the topic that its messages are of.
const (
	// CodeLogClock: the messages of a topic have no header, so its clock is the log time. Example: clock header of a topic of std_msgs/String.
	CodeLogClock = remark + "log-clock"
	// CodeHeaderTimeNone: every header of a topic has the timestamp 0, so the clock is the log time. Example: a driver that leaves stamp unset.
	CodeHeaderTimeNone = remark + "header-time-none"
	// CodeHeaderTimeZero: Count of Of headers of a topic have the timestamp 0. Example: a driver that starts before its clock is set.
	CodeHeaderTimeZero = remark + "header-time-zero"
	// CodePublishTimeNone: the publish time is the log time in all messages of a topic. Example: clock publish of a converted ROS 1 bag.
	CodePublishTimeNone = remark + "publish-time-none"
	// CodeHeaderFields: no stream has frame_id and seq of a topic's headers. Example: /imu of sensor_msgs/Imu.
	CodeHeaderFields = remark + "header-fields"
	// CodeFrameParents: coordinate frames move in their parents; Names are "CHILD in PARENT". Example: "base in map" of /tf.
	CodeFrameParents = remark + "frame-parents"
	// CodeMessagesEmpty: Count of Of messages of a list have no elements, and make no rows. Example: position of a JointState without joints.
	CodeMessagesEmpty = remark + "messages-empty"
	// CodeRowsWithoutTask: Count of Of rows or windows come before the task's first text, and have no task. Example: a topic /task that begins 2 s later.
	CodeRowsWithoutTask = remark + "rows-without-task"
	// CodePublishersAlternate: a topic's messages come from the publishers Names in turn, and return to an earlier one Count times in Of messages.
	// Example: two nodes that both publish /cmd_vel.
	CodePublishersAlternate = remark + "publishers-alternate"
	// CodeListsPadded: Count of Of messages have a list shorter than the longest, which has Want elements; NaN fills the rest. Got is the range of
	// lengths. Example: "1147 to 1150" ranges of a laser's scans.
	CodeListsPadded = remark + "lists-padded"
	// CodeMessageSurplus: Count of Of messages have Bytes after the last field of their type, which are ignored as in ROS. Example: rosserial sends a
	// std_msgs/Float32 of 5 bytes.
	CodeMessageSurplus = remark + "message-surplus"
	// CodeLabelsUnusable: the names in the field Got are empty, occur twice or are too long, so columns have numbers. Example: two joints with the name "a".
	CodeLabelsUnusable = remark + "labels-unusable"
	// CodeLabelsPartial: some messages have no names in the field Got, so columns have numbers. Example: a JointState with positions and no names.
	CodeLabelsPartial = remark + "labels-partial"
	// CodeLabelsReordered: messages name the elements in several orders in the field Got, and columns are in one. Example: joints "a, b", then "b, a".
	CodeLabelsReordered = remark + "labels-reordered"
	// CodeLabelSets: the field Got has Of sets of names, and each makes a stream. Example: /joint_states of an arm and a gripper.
	CodeLabelSets = remark + "label-sets"
	// CodeFramesBeforeKey: the first Count of Of frames come before a key frame. Example: a recording that starts inside a group of h264 pictures.
	CodeFramesBeforeKey = remark + "frames-before-key"
	// CodeFramesWithoutKey: none of Count frames is a key frame. Example: a recording shorter than a group of h264 pictures.
	CodeFramesWithoutKey = remark + "frames-without-key"
	// CodeMessageCount: Names declares Want messages, and there are Got. Example: metadata.yaml of a bag that was cut.
	CodeMessageCount = remark + "message-count"
	// CodeTimeRange: metadata.yaml declares the time range Want, and the messages have Got, in Unit. Example: a bag of which a file was replaced.
	CodeTimeRange = remark + "time-range"
	// CodeDefinitionsAssumed: a bag lacks definitions, and those of the distribution Got, which wrote it, are used. Example: a bag of Humble.
	CodeDefinitionsAssumed = remark + "definitions-assumed"
	// CodeDefinitionsNewest: as CodeDefinitionsAssumed; Got is the newest, because Want, which wrote the bag, is unknown. Example: a bag without ros_distro.
	CodeDefinitionsNewest = remark + "definitions-newest"
	// CodeDefinitionsFitting: as CodeDefinitionsNewest; Got is the newest that the messages fit. Example: a bag of Galactic without ros_distro.
	CodeDefinitionsFitting = remark + "definitions-fitting"
	// CodeDefinitionsUnfit: as CodeDefinitionsNewest; some messages fit no distribution. Example: a bag with a vendor's own sensor_msgs.
	CodeDefinitionsUnfit = remark + "definitions-unfit"
	// CodeDefinitionReplaced: the messages do not fit the bag's definition of the type Got, and fit another. Example: a bag of Iron with older messages.
	CodeDefinitionReplaced = remark + "definition-replaced"
	// CodePiecesAssumed: the files Names are taken for the pieces of one recording. Want is the list that is missing, if the format has
	// one. Example: run_0.mcap and run_1.mcap, without metadata.yaml.
	CodePiecesAssumed = remark + "pieces-assumed"
	// CodeFrameTimeOwn: Count timestamps depart from frame_index/fps, and are the clock: Row is Got and not Want, in Unit; Names are the clocks that can be
	// chosen. Example: row 0 is 0.05 s and not 0 s.
	CodeFrameTimeOwn = remark + "frame-time-own"
	// CodeFrameTimeSteps: as CodeFrameTimeOwn, but the steps are those of frame_index/fps, which is the clock from the first timestamp on. Example: an
	// episode that was cut out of a longer one, and begins at 41.2 s.
	CodeFrameTimeSteps = remark + "frame-time-steps"
	// CodeFrameTimeUnsorted: as CodeFrameTimeOwn, but the timestamps do not ascend and are not the clock. Example: a table whose rows were shuffled.
	CodeFrameTimeUnsorted = remark + "frame-time-unsorted"
	// CodeValuesCast: Count of Of values change because they are cast from the type Got to the declared type Want. Example: float64 in a table of a feature
	// that is declared as float32.
	CodeValuesCast = remark + "values-cast"
	// CodeFramesHeld: Count of Of rows have a frame that cannot be decoded, and show the frame before it, or the first good one. Row is the first, Cause its
	// error. Example: a JPEG that a driver cut.
	CodeFramesHeld = remark + "frames-held"
	// CodeClockAssumed: Count rows have no clock of their own, and take Got, which has as many. Example: q [20] beside joint/timestamps [20].
	CodeClockAssumed = remark + "clock-assumed"
	// CodeRowsNotValid: Count rows of a stream are not valid, and were left out. Example: rows of a clock in a gap of the stream.
	CodeRowsNotValid = remark + "rows-not-valid"
)

// Codes of ClassRemark that package align adds.
const (
	// CodeStrayLeftOut: a timestamp, Got, lies far from the others, Want is its distance, and Count samples were left out. Example: 0 s before the clock was set.
	CodeStrayLeftOut = remark + "stray-left-out"
	// CodeStrayFollowed: as CodeStrayLeftOut, but the range of the clock follows the timestamp. Example: range union.
	CodeStrayFollowed = remark + "stray-followed"
	// CodeStrayTaken: as CodeStrayLeftOut, but the sample was used. Example: a plan with targets.
	CodeStrayTaken = remark + "stray-taken"
	// CodeStrayIgnored: as CodeStrayLeftOut; the sample is there, and the clock does not follow it. Example: a row of a batch.
	CodeStrayIgnored = remark + "stray-ignored"
	// CodeStrayUnset: as CodeStrayLeftOut, of a recording that is not resampled. Example: a plan is suggested for a clock that was not set.
	CodeStrayUnset = remark + "stray-unset"
	// CodeClockJump: a sample comes Got s after sample Row, and all others lie within Want s. Example: a clock that was set during the recording.
	CodeClockJump = remark + "clock-jump"
	// CodeRangeEmpty: no stream has samples in the range; they cover Got to Want s. Example: range 100s to 200s of a recording of 60 s.
	CodeRangeEmpty = remark + "range-empty"
	// CodeRangeNotNarrowed: no stream that may narrow the range covers half of the recording. Example: two topics that each cover a third.
	CodeRangeNotNarrowed = remark + "range-not-narrowed"
	// CodeRangeDisjoint: streams have no time in common, as Cause has it, and the clock covers all. Example: two computers with different clocks.
	CodeRangeDisjoint = remark + "range-disjoint"
	// CodeStatisticsNeeded: the normalisation Got was not applied, because it needs the statistics of a dataset. Example: mean-std.
	CodeStatisticsNeeded = remark + "statistics-needed"
	// CodeBackSteps: Count steps back in time were sorted. Example: messages of two publishers on one topic.
	CodeBackSteps = remark + "back-steps"
	// CodeOtherStretches: a log was read without Count messages, because they lie in other stretches than number Got, from 1, of Of.
	// Example: a log whose clock was set back once has two stretches.
	CodeOtherStretches = remark + "other-stretches"
	// CodeClockStill: all Count timestamps of the clock Got are Unit ns; the times of the clock Want move, if it is not empty. Example: a log time that is always 0.
	CodeClockStill = remark + "clock-still"
	// CodeHeaderEpoch: headers of a topic have times of another epoch or unit than the log, the first Got and Want ns. Unit is that of the smaller, if it is
	// known. Example: 1.7e12, milliseconds of an epoch.
	CodeHeaderEpoch = remark + "header-epoch"
	// CodeHeaderDrift: the log time less the header's changes by Got in Want, or Unit percent. Example: a sensor whose clock is slow.
	CodeHeaderDrift = remark + "header-drift"
	// CodeHeaderLatency: messages are recorded Got after the time of their header, those of Names Want. Example: a lidar that sends 250 ms late.
	CodeHeaderLatency = remark + "header-latency"
	// CodeTimeless: Count samples have no time, and were left out. Example: a timestamp that is NaN.
	CodeTimeless = remark + "timeless"
	// CodeNeverValid: a stream is valid at none of Count targets. Example: a stream that ends before the clock begins.
	CodeNeverValid = remark + "never-valid"
	// CodeTimeUnit: timestamps in ns are Got a second; in Unit they would be Want. Example: 1e+05 a second, or 100 of microseconds.
	CodeTimeUnit = remark + "time-unit"
	// CodeAngleUnit: angles in radians go to Got and change by up to Want at once, as degrees do. Example: a heading that goes to 359.9.
	CodeAngleUnit = remark + "angle-unit"
	// CodeTimesCoarse: timestamps are multiples of Unit, so Count of Of targets lie up to Got from their sample, and a snap of Want mends it. Example: 1ms.
	CodeTimesCoarse = remark + "times-coarse"
	// CodeNotFinite: Count of Of samples are not finite, and are resampled as they are. Example: NaN of a range sensor without an echo.
	CodeNotFinite = remark + "not-finite"
	// CodeToleranceUnused: no stream has a kind that a tolerance is for. Example: a tolerance and kind linear.
	CodeToleranceUnused = remark + "tolerance-unused"
	// CodePeriodUnused: no column has the kind angle. Example: a period of 360 and kind linear.
	CodePeriodUnused = remark + "period-unused"
	// CodeQuatUnused: no column has the kind slerp. Example: quat wxyz of streams without rotations.
	CodeQuatUnused = remark + "quat-unused"
	// CodeWindowUnused: no column has a kind of windows. Example: a window of 20ms and kind linear.
	CodeWindowUnused = remark + "window-unused"
	// CodeExtrapolateUnused: no column has the kind linear. Example: edge extrapolate and kind previous.
	CodeExtrapolateUnused = remark + "extrapolate-unused"
	// CodeFillGapsUnused: no limit makes a gap. Example: fill_gaps without max_gap.
	CodeFillGapsUnused = remark + "fill-gaps-unused"
	// CodeFillUnused: the fill value is not written. Example: a fill of -7 and edge clamp.
	CodeFillUnused = remark + "fill-unused"
	// CodeKindUnused: no column takes the kind Got. Example: kind linear of streams of whole numbers.
	CodeKindUnused = remark + "kind-unused"
	// CodeKindGroups: the kind Got takes Want columns together, and no stream says which. Example: kind slerp of columns x, y, z and w.
	CodeKindGroups = remark + "kind-groups"
	// CodeSuggestedWithout: a plan was suggested without the episode of number Row, which cannot be read because of Cause. Example: a file that is cut.
	CodeSuggestedWithout = remark + "suggested-without"
	// CodeStreamsDiffer: no stream is in half of the Count episodes that were read. Example: a folder of recordings of several robots.
	CodeStreamsDiffer = remark + "streams-differ"
	// CodeClocksApart: samples lie Got or more from those of Names and share no moment with them, in Count of Of episodes. Example: two computers.
	CodeClocksApart = remark + "clocks-apart"
)

// Codes of ClassRemark of a dataset.
const (
	// CodeChunkShort: Count ticks of an action are predicted and not Of, because episodes are short: nine in ten have Got ticks. Example: 10.
	CodeChunkShort = remark + "chunk-short"
	// CodeCloudUnread: the first cloud of a series cannot be read, because of Cause. Example: a message that is cut.
	CodeCloudUnread = remark + "cloud-unread"
	// CodeIntegersRounded: Count whole numbers are rounded, because the type Got does not hold them. Example: nanoseconds of an epoch in f64.
	CodeIntegersRounded = remark + "integers-rounded"
	// CodeNotFiniteDrawn: Count of Of samples are not finite; batches have them, and statistics do not. Example: NaN of a sensor without an echo.
	CodeNotFiniteDrawn = remark + "not-finite-drawn"
	// CodeWindowsInGaps: Count of Of windows have their anchors in gaps of a stream, whose values are valid there. Example: a hole of 10 s.
	CodeWindowsInGaps = remark + "windows-in-gaps"
	// CodePackedDisorder: the timestamps of a packed stream do not ascend, as Cause has it. Example: messages of two publishers on one topic.
	CodePackedDisorder = remark + "packed-disorder"
	// CodeFramesMemory: the frames of the cameras will take Got of memory, in Unit. Example: two cameras of 720p for an hour.
	CodeFramesMemory = remark + "frames-memory"
	// CodeWindowsNone: a plan has no windows, so each stream has the anchor alone; Want is an example of windows. Example: a plan for resampling.
	CodeWindowsNone = remark + "windows-none"
	// CodeRateDeclared: the clock of the batches has the rate Got, in Hz, of the dataset. Example: fps of meta/info.json.
	CodeRateDeclared = remark + "rate-declared"
	// CodePlanCamera: a stream of the plan is the camera Got, and is not drawn as a stream. Example: observation.images.top.
	CodePlanCamera = remark + "plan-camera"
	// CodeStatisticsUnused: statistics of Names are not used, because the batches have no such streams. Example: timestamp.
	CodeStatisticsUnused = remark + "statistics-unused"
	// CodeStepsOnly: timestamps count steps, because the recordings have no times. Example: an HDF5 file of robomimic.
	CodeStepsOnly = remark + "steps-only"
)

// Codes of ClassRemark that package convert adds.
const (
	// CodeMediaMissing: an episode lacks a camera that was asked for. Example: --media front of recordings of which one has no camera.
	CodeMediaMissing = remark + "media-missing"
	// CodeFramesJPEG: the frames of a video are written as JPEG of the quality Got. Example: a camera of LeRobot in an MCAP file.
	CodeFramesJPEG = remark + "frames-jpeg"
	// CodeFramesEncoded: frames are encoded as Got. Example: images of a log in a dataset of LeRobot.
	CodeFramesEncoded = remark + "frames-encoded"
	// CodeFramesMoved: frames of a copied video have the times of their rows. Example: a video that starts 10 ms after its episode.
	CodeFramesMoved = remark + "frames-moved"
	// CodeEventsMoved: the events of Count rows are in the first written row after their own. Example: 30 Hz on a clock of 10 Hz.
	CodeEventsMoved = remark + "events-moved"
	// CodeListTimes: timestamps in the lists of Count rows count from the recording's first row, Got s before the first written row. Example: a first row without a value.
	CodeListTimes = remark + "list-times"
	// CodeNameUnused: an option has a name for a stream that does not exist. Example: --name stat=observation.state of a dataset without stat.
	CodeNameUnused = remark + "name-unused"
	// CodeModalityDiffers: the inputs have different files meta/modality.json. Example: two robots.
	CodeModalityDiffers = remark + "modality-differs"
	// CodeModalityUnread: meta/modality.json, or its part Subject, cannot be read, because of Cause. Example: a file that is cut.
	CodeModalityUnread = remark + "modality-unread"
	// CodeModalityMissing: a part of meta/modality.json is about Got, which the output lacks. Example: a camera that was left out.
	CodeModalityMissing = remark + "modality-missing"
	// CodeModalityRenamed: a part of meta/modality.json is about Got, which is Want in the plan. Example: observation.state from action.
	CodeModalityRenamed = remark + "modality-renamed"
	// CodeModalityReplaced: a part of meta/modality.json is about Got, which is made anew. Example: --action joints.
	CodeModalityReplaced = remark + "modality-replaced"
	// CodeModalityColumns: a part of meta/modality.json is about Got, which has other columns in the output. Example: a plan with columns.
	CodeModalityColumns = remark + "modality-columns"
)

// Codes of ClassRemark that package loader adds. Names are the columns.
const (
	// CodeColumnsReordered: columns come in another order than in the first episode. Example: "b, a".
	CodeColumnsReordered = remark + "columns-reordered"
	// CodeColumnsExtra: the first episode does not have the columns, and they are left out. Example: a gripper that was added later.
	CodeColumnsExtra = remark + "columns-extra"
	// CodeColumnsFractional: columns have fractions, and whole numbers in the first episode. Example: a gripper of 0 and 1, then of 0 to 1.
	CodeColumnsFractional = remark + "columns-fractional"
	// CodeColumnsWhole: columns have whole numbers, and fractions in the first episode. Example: a gripper of 0 to 1, then of 0 and 1.
	CodeColumnsWhole = remark + "columns-whole"
)
