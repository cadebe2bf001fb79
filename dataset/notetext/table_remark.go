package notetext

import "github.com/robocache/robocache/dataset"

var remarkTexts = map[dataset.Code]string{
	dataset.CodeLogClock:            "messages without a header have the clock log",
	dataset.CodeHeaderTimeNone:      "header timestamps are always 0, so the clock is log",
	dataset.CodeHeaderTimeZero:      "the header timestamp is 0 in {count} of {total} messages",
	dataset.CodePublishTimeNone:     "publish times equal the log times in every message",
	dataset.CodeHeaderFields:        "the header fields frame_id and seq are in no stream",
	dataset.CodeFrameParents:        "frames move in their parents: {names}",
	dataset.CodeRowsWithoutTask:     "{count} of {total} rows come before the first text, and have no task",
	dataset.CodePublishersAlternate: "several publishers send in turn, {count} times in {total} messages: {names}",
	dataset.CodeChunksAbsent:        "{count} of {total} chunks have no file, the first is {names}: their numbers are the fill value",
	dataset.CodeListsPadded:         "{count} of {total} messages have fewer than {want} elements, {got}: the rest of the row is NaN",
	dataset.CodeMessagesEmpty:       "{count} of {total} messages have no elements, and make no rows",
	dataset.CodeMessageSurplus:      "{count} of {total} messages have {bytes} bytes in all after the last field of their type, which are ignored",
	dataset.CodeLabelsUnusable:      "{got} has names that are empty, occur twice or are over 255 bytes, so columns have numbers for names",
	dataset.CodeLabelsPartial:       "not all messages have names in {got}, so columns have numbers for names",
	dataset.CodeLabelsReordered:     "{got} names the elements in other orders in other messages: columns are in one, by name",
	dataset.CodeLabelSets:           "{got} has {total} different sets of names: each has its own streams",

	dataset.CodeFramesBeforeKey:  "the first {count} of {total} frames come before a key frame, and cannot be decoded",
	dataset.CodeFramesWithoutKey: "none of {count} frames is a key frame, so none can be decoded",

	dataset.CodeMessageCount:       "{names} declares {want} messages[ for {subject}], but there are {got}",
	dataset.CodeTimeRange:          "metadata.yaml declares message times {want} {unit}, but they are {got} {unit}",
	dataset.CodeDefinitionsAssumed: definitions,
	dataset.CodeDefinitionsNewest:  definitions + ", the newest",
	dataset.CodeDefinitionsFitting: definitions + ", the newest that the messages fit",
	dataset.CodeDefinitionsUnfit:   definitions + ", the newest; where definitions differ, no distribution fits the messages",
	dataset.CodeDefinitionReplaced: "the {subject} messages do not fit the bag's own definition for {got}: another one that fits is used",
	dataset.CodePiecesAssumed:      "[without {want}, ]the {count} files {names} are taken as the pieces of one recording",
	dataset.CodeFrameTimeOwn:       frameTime + ": they are the episode's clock; the clocks {names} can be chosen",
	dataset.CodeFrameTimeSteps:     frameTime + ": their steps are within LeRobot's tolerance, so frame_index/fps from the first timestamp on is the clock; the clocks {names} can be chosen",
	dataset.CodeFrameTimeUnsorted:  frameTime + ": they are not the episode's clock, because they do not ascend; the clocks {names} can be chosen",
	dataset.CodeValuesCast:         "{count} of {total} values change as they are cast from {got} to {want}",
	dataset.CodeFramesHeld:         "{count} of {total} rows show another frame because theirs cannot be decoded, row {row} is the first: {cause}",
	dataset.CodeClockAssumed:       "{count row} without their own clock take the timestamps of {got}, which has as many",
	dataset.CodeRowsNotValid:       "{count row} that {is|are} not valid left out",

	dataset.CodeStrayLeftOut:     strayTime + "samples left out: {count}",
	dataset.CodeStrayFollowed:    strayTime + "the requested range follows it",
	dataset.CodeStrayTaken:       strayTime + "its sample was taken",
	dataset.CodeStrayIgnored:     strayTime + "the clock does not follow it",
	dataset.CodeStrayUnset:       strayTime + "no gap, but a clock that was not set; robocache doctor has more about it",
	dataset.CodeClockJump:        "a sample comes {got} s after the one before it, sample {row}, and all others lie within {want} s: perhaps its clock was set. A max_gap makes the time between not valid",
	dataset.CodeRangeEmpty:       "no stream has samples in the range: they cover {got} to {want} s",
	dataset.CodeRangeNotNarrowed: "no stream that may narrow it covers half of the recording: " + coversAll,
	dataset.CodeRangeDisjoint:    "{cause}: " + coversAll,

	dataset.CodeStatisticsNeeded: "{got} was left out: it needs dataset statistics",
	dataset.CodeBackSteps:        "{count step} back in time, sorted",
	dataset.CodeOtherStretches:   "stretch {got} of {total} was read, without {count message} in the others",
	dataset.CodeClockStill:       "its clock[ {got}] stands still: all {count} timestamps are {unit} ns[; the times of --clock {want} move]",
	dataset.CodeHeaderEpoch:      "its headers have another epoch or unit than the log: the first has {got} ns where the log has {want} ns[: the smaller are {unit}]",
	dataset.CodeHeaderDrift:      "its headers drift against the log by {got} in {want}, {unit} %",
	dataset.CodeHeaderLatency:    "its messages were measured {got} before they were recorded, those of {names} {want}: --clock header",
	dataset.CodeTimeless:         "{count sample} without a time, and left out",
	dataset.CodeNeverValid:       "valid at none of the {count} targets",
	dataset.CodeTimeUnit:         "its timestamps are taken as nanoseconds, and are {got} a second; as {unit} they would be {want}",
	dataset.CodeAngleUnit:        "its angles go to {got} and change by up to {want} at once; if they are degrees, their period is 360",
	dataset.CodeTimesCoarse:      "its timestamps are whole multiples of {unit}, so that {count} of {total} targets lie beside their sample, by up to {got}; a snap of {want} puts them on it",
	dataset.CodeNotFinite:        "stream {subject}: {count} of {total} samples have a NaN or infinite value, and are resampled as they are: valid",

	dataset.CodeToleranceUnused:   "tolerance has no effect: it is for the methods previous, next and nearest",
	dataset.CodePeriodUnused:      "period has no effect: it is for the method angle",
	dataset.CodeQuatUnused:        "quat has no effect: it is for the method slerp",
	dataset.CodeWindowUnused:      "window has no effect: it is for the window methods, such as window-mean",
	dataset.CodeExtrapolateUnused: "edge extrapolate has no effect: only the method linear goes on, others hold their end sample",
	dataset.CodeFillGapsUnused:    "fill_gaps has no effect: no max_gap, tolerance or window makes a gap",
	dataset.CodeFillUnused:        "fill has no effect: it is written with edge fill or hold, and with fill_gaps",
	dataset.CodeKindGroups:        "method {got} has no effect: it takes {want} columns together, and no names or types mark them; in a plan a range of columns has a method",
	dataset.CodeChunkShort:        "{count tick} {is|are} predicted and not {total}, because episodes are short: nine in ten have {got} or more; a plan's windows set another number",
	dataset.CodeKindUnused:        "method {got} has no effect: no column takes it, because they are whole numbers or have their own methods",

	dataset.CodeSuggestedWithout: "episode {row} cannot be read: {cause}",
	dataset.CodeStreamsDiffer:    "the recordings differ: no stream is in half of the {count} that were read, so some do not fit the plan",
	dataset.CodeClocksApart: "its samples lie {got} or more from the samples in {names}, and share no moment with them, in {count} of {total} episodes: resampled by this plan, " +
		"no row has both; give it an offset, or take another clock",

	dataset.CodeCloudUnread:      "the first cloud cannot be read: {cause}",
	dataset.CodeIntegersRounded:  "whole numbers that are rounded because {got} does not hold them: {count}",
	dataset.CodeWindowsInGaps:    "stream {subject}: {count} of {total} windows are anchored in sample gaps, and its values there are valid: a max_gap, such as auto, or a tolerance makes them not valid",
	dataset.CodeNotFiniteDrawn:   "stream {subject}: {count} of {total} samples have a NaN or infinite value, and are drawn as they are: valid, and left out of statistics",
	dataset.CodePackedDisorder:   "{cause}; it is packed as it is, and batches --unordered sort takes it",
	dataset.CodeWindowsNone:      "the plan has no windows, so all streams have the anchor alone: windows: {want} would give action a second",
	dataset.CodeRateDeclared:     "the clock has {got} Hz, as the dataset has; {names} takes another",
	dataset.CodePlanCamera:       "the plan's stream {subject} is a camera, which batches have by {names} {got}=WIDTHxHEIGHT",
	dataset.CodeStatisticsUnused: "statistics that are not used, because the batches have no such stream: {names}",
	dataset.CodeStepsOnly:        "no times: timestamps count steps, one a second unless --rate is set",

	dataset.CodeMediaMissing:     "media {subject}, which was asked for, is missing",
	dataset.CodeFramesJPEG:       "video frames are JPEG images with quality {got}",
	dataset.CodeFramesEncoded:    "frames are encoded as {got}",
	dataset.CodeFramesMoved:      "frames from a copied video were moved to the times of their rows",
	dataset.CodeEventsMoved:      "the events in {count row} are in the first row after, because their own was not written",
	dataset.CodeListTimes:        "timestamps in the lists of {count row} count from {got} s before the first written row",
	dataset.CodeNameUnused:       "a name is given for {subject}, but there is no such stream or camera",
	dataset.CodeInputsDiffer:     "left out, because the inputs have different ones",
	dataset.CodeModalityUnread:   modality + "{cause}",
	dataset.CodeModalityMissing:  modality + "there is no {got}",
	dataset.CodeModalityRenamed:  modality + "{got} is {want} by the plan",
	dataset.CodeModalityReplaced: modality + "{got} is made anew",
	dataset.CodeModalityColumns:  modality + "{got} has other columns",

	dataset.CodeColumnsReordered:  "columns {list} come in another order than in the first episode, and are taken by their names",
	dataset.CodeColumnsExtra:      "columns {list} are left out, which the first episode does not have",
	dataset.CodeColumnsFractional: "columns {list} have fractions, and hold their last value unless a method is asked for: they are whole numbers in the first episode",
	dataset.CodeColumnsWhole:      "columns {list} are whole numbers, and are interpolated unless a method is asked for: they have fractions in the first episode",

	dataset.CodeDepthUnposed:      "{count} of {total} depth images have no pose, and are left out",
	dataset.CodeDepthUnread:       "{count} of {total} depth images cannot be read, and are left out, the first: {cause}",
	dataset.CodePointsNone:        "{count} of {total} depth images have no point in the box, and are left out",
	dataset.CodePointsFew:         "{count} of {total} depth images have fewer than {want} points: the first repeats",
	dataset.CodePointsOutside:     "{count} of {total} points are in no cell of the grid, at its edge",
	dataset.CodeDistortionIgnored: "camera_info has a lens distortion, which is not corrected",
}

// The beginnings and ends that several sentences share.
const (
	definitions = "the bag lacks message definitions: unless the caller names others, they come from ROS 2 {got}[, because {want} is not known]"
	frameTime   = "{count} timestamps depart from frame_index/fps by more than 0.1 ms, the first, in row {row}, is {got} {unit} and not {want} {unit}"
	strayTime   = "a timestamp of {got} s lies {want} s from the others: "
	modality    = "left out: [{subject} in ]meta/modality.json: "
	coversAll   = "the clock covers all that any stream covers"
)
