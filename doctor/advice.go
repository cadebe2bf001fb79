package doctor

// advice is the severity and the remedy of a kind's findings.
var advice = map[Kind]struct {
	severity Severity
	what     string
}{
	Gap:          {Warning, ""},
	Duplicate:    {Warning, "The later of two samples counts where streams are resampled. If every sample is there twice, two recorders wrote to one file, or a topic was subscribed to twice: drop the second."},
	BackStep:     {Error, "Put the samples in order while they are read: unordered: sort in the plan, or --unordered sort. Several recorders in one file do this."},
	Jitter:       {Warning, "Take the time when the sensor measured, if the recording has it (--clock header), rather than when the message arrived or was written; else resample linearly, so that no sample stands for another time."},
	StrayTime:    {Error, "Leave the samples out, or begin the range of the plan after them: range: [FROM, TO]. Sensors that publish before their clock is set do this."},
	StillClock:   {Error, "Read it with another clock that the recording has (--clock), or number the samples and divide by the rate: one timestamp for all is none."},
	TimeUnit:     {Error, "Convert the timestamps to nanoseconds (int64) or to seconds (float64), and write the file anew. Rates, gaps and windows are all wrong until then."},
	Float32Clock: {Error, "Record timestamps as int64 nanoseconds or float64 seconds: digits that float32 lost cannot be recovered. If the rate was even, number the samples and divide by the rate."},
	CoarseClock:  {Warning, ""},
	FPSMismatch:  {Error, "Find out which is right. If it is the timestamps, correct fps in the dataset's metadata, or read it with --rate; a policy that is trained on the wrong one moves at the wrong speed."},
	FrameTime:    {Warning, "If the timestamps are when the rows were recorded, read it with --clock timestamp. If they are not, write frame_index/fps: LeRobot takes the video frame at the timestamp, so an offset shows a policy another frame than the row's."},
	NoOverlap:    {Error, "If its clock was wrong, give it an offset in the plan, or take another clock (--clock): on one clock, no row has samples from both, and the values in between are constant. A header stamped by another computer does this."},
	ShortCover:   {Warning, "Leave it out of the plan, or begin and end the range where all streams have samples: range: [FROM, TO]. Elsewhere its rows repeat its first or last sample and mean nothing."},
	ClockOffset:  {Warning, ""},
	Dropout:      {Warning, "Set max_gap in the plan, so that the hole is not valid; a faster storage card, or fewer logged topics, prevents it."},

	NaN:            {Error, "Leave the columns out of the plan if they mean nothing, or cut the samples out: one NaN in a batch makes the loss NaN. A driver that publishes before its first reading, or a division by zero, does this."},
	Stuck:          {Warning, "Cut the stretch out, or leave the episode out: a policy learns from it that nothing moves. Look at the sensor's connection and at the node that publishes it."},
	Repeated:       {Warning, ""},
	Saturation:     {Warning, "Widen the sensor's range, or lower the gain; for training, leave these stretches out or accept that the peaks are missing."},
	Spike:          {Warning, "Cut the samples out, or put the median of the neighbours in their place: a single one stretches the least and the greatest value, and so the normalisation. A bit lost on a bus, or a sensor without an answer, does this."},
	UnitJump:       {Error, "Convert the stretch into the unit of the others before it is used, or leave it out. A driver that was set up anew while it was recorded does this."},
	QuaternionNorm: {Error, "Normalise the quaternions where they are not 0; leave samples of 0, 0, 0, 0 out: a tracker that lost its target writes these. Check that the columns are the quaternion's, and all four of them."},
	QuaternionFlip: {Warning, "Resample them with method: slerp, which takes the shorter arc. Where they are inputs or targets of a network, make the signs agree first, or use a rotation of 6 numbers."},
	AngleWrap:      {Warning, ""},
	Inexact:        {Warning, "Leave the columns out of training, because they are counters or identifiers. The file's own integers are exact."},

	VideoDrift:   {Error, "Encode the videos again so that frame i is at i/fps, without joining files by their duration in milliseconds: robocache convert does. LeRobot refuses frames that are more than 0.1 ms from their row."},
	VideoCount:   {Error, "Encode the video again from the images, or cut the rows to the frames that there are; a recording that was ended before the encoder had finished does this. If there are too many frames, the file may belong to other episodes."},
	MissingFile:  {Error, "Copy the files again from where the dataset came from. If they are left out on purpose, correct the metadata that lists them, because readers look for them."},
	IndexGap:     {Error, "Write the dataset anew with its rows and episodes numbered from 0 without gaps: robocache convert --to lerobot does. LeRobot finds both by position, so every later episode is read from the wrong rows."},
	StaleStats:   {Error, "Compute the statistics again: robocache stats. Normalisation with these shifts and scales a policy's inputs; they are left over from before the data was changed, or from a merge."},
	Schema:       {Error, "Make the files agree with their declaration, or with each other: list the columns that all have under columns in the plan. If columns are taken by their place, some are taken for others."},
	MixedRates:   {Warning, ""},
	SplitOverlap: {Warning, "Take the episodes out of one of the two: results on training episodes do not show how a policy does on new ones."},
	Declaration:  {Warning, "Correct the metadata, or convert the dataset anew; until then readers may take it for something else."},
	Undecoded:    {Warning, "Name the folders of message definitions with --msg-path, or record with a tool that writes them into the file."},
	Damaged:      {Error, "Copy the file again from its source. Its whole parts were read; the parts listed here are lost."},
	Unended:      {Warning, "Compare its size with that of the original. If it was cut, copy it again; if it is whole, put an end of line behind its last number."},
	Unreadable:   {Error, "Copy the file again from where it came from, or leave the episode out."},
	Empty:        {Warning, "Leave the episode out; it has nothing to train on."},

	Misfit: {Error, "Correct it in the recording, leave it out of the plan, or leave the episode out: robocache convert does not write it."},
}
