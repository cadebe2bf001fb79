// Package serve is the child process of the Python package. It plans, reads, decodes and computes on the CPU. It uses a GPU only
// to decode and resize frames, if a loader's request has "frames_on". It exchanges frames with its parent over a Unix socket.
//
// # Frames
//
// A frame is a header of 16 bytes, the JSON and the blob. The header is little endian: the magic "RCF1", the bytes of JSON, the bytes of the blob and
// the number of file descriptors, 0 or 1, 4 bytes each. The JSON is an object of at most 64 MiB, the blob has at most 1 GiB. A larger frame is refused
// before memory is allocated, and buffers grow with the bytes that arrive. A descriptor is sent by SCM_RIGHTS with the first byte of the header. After
// an invalid frame the child replies with an error and ends, because the start of the next frame is unknown.
//
// Each request has one reply, and the next request follows the reply. A request is {"do": NAME, ...}. An unknown field is an error that names it.
// Integers are exact in all 64 bits. A reply is {"ok": true, ...}, or {"error": {...}} with the known fields of [Failure]. After an error of a request
// the child continues. After a panic the error has the class "PanicError", and the stack goes to standard error.
//
// # Requests
//
//	hello    {"protocol":1,"version":"0.3.0"}: the first request. The reply has "protocol", "plan" (the version of exported plans), "version",
//	         "images" (the hash of all kernel images) and "platform". If the protocol or the version differs, the error has the class
//	         "VersionError" and both values, and the child ends. Versions are not compared if one of them contains "dev".
//	arena    {"bytes":N}: shared memory. The reply has "bytes", at least N, and the descriptor of a memfd that cannot shrink or grow. It replaces
//	         the connection's earlier arena.
//	compute  {"request":OP}: runs an operation on the CPU, on tensors in the arena. An output may not share memory with another tensor. The reply
//	         has the "counts" of a voxelize.
//	target   {"target":{"name","driver","attributes","kernels"}}: a device, as in Target of package ops/record. The reply has "target", its number,
//	         which is the same for the same description, and "reason", which explains the choice of kernel images.
//	plan     {"target":NUMBER,"request":OP}: exports the plan of an operation; see package ops/record. The reply has the header as "plan" and the
//	         payload as the blob. The same request always has the same reply.
//	image    {"hash":SHA-256}: a kernel image that a plan names. The reply's blob has its bytes.
//	explain  {"target","request","fault":N,"contents":{"SrcOffsets":[...]}}: the reply is the error for the word that a run of the plan left in its
//	         fault buffer. Contents are the offsets and lengths of the operation's arguments, because they map a position to a row.
//	counts   {"target","request"}, and as the blob the bytes that the plan's "counts" names, after a run of a voxelize. The reply has "counts":
//	         "points", "in_range", "out_of_range", "not_finite", "voxels", "dropped_voxels" and "dropped_points".
//
// A connection has at most one loader. Its batches are in slots of one memfd. A resident loader has no slots: its batches are replayed on a GPU.
//
//	loader   the arguments of robocache batches, with durations in seconds. The reply describes the "arrays" of a slot. Its descriptor has "slots"
//	         times "slot_bytes". With "unmade" a slot has a camera's stored frames instead of frames, and the client makes the frames.
//	camera   {"camera","target"}: the plan that makes a camera's frames; the blob is its payload. Its arguments are parts of a slot: frames, valid,
//	         stored, select and keys.
//	next     {"release":[...],"poll"}: returns slots and takes the next batch. The reply has its "slot", which belongs to the client until the client
//	         returns it, "epoch", "last" (true if the batch ends the epoch) and "state", the state after the batch. With poll the request does not
//	         wait; slot -1 means that no batch is ready.
//	resume   {"state"}: the next batch is the one after the state. The reply has its "epoch".
//	report   {}: the counts of samples and windows so far, and the waits.
//	resident the fields of loader without "slots", and "target". The reply has the approximate "bytes" on the device, and its descriptor is a
//	         "window" for uploads. The datasets are read after the first upload.
//	upload   {}: the client has read the window. The reply has a "piece": "bytes" bytes in the window, for offset "at" of the buffer "buffer", which
//	         has "size" bytes. At the end it has the "batch": its "plan", with the payload in the blob and the numbers of uploads as "id" of its
//	         buffers, the "arrays" of a batch in the plan's arguments, and the "cursors", buffers and offsets of the epoch and the positions taken.
//	         From then on resume only checks a state, and the client writes the cursors.
//	filling  the fields of resident without "target": before resident, for cameras with frames on the GPU. "frame_memory" is the room
//	         there. The reply has the "bytes" of the frames on the GPU, and its descriptor is the "memory" of rooms for frames.
//	fill     {"release":[...],"batches":N,"state"}: returns rooms, and takes frames to copy from them to the batch's "stores". It waits for frames
//	         until all frames of N batches after the state are given. The reply has the "frames", the "batches" that are complete, all of
//	         them at the end, and the number of frames "left". "bad" of the frames are samples in the store's places, i64, to set to 2^40.
//
// # Recordings
//
// Arrays are sent in a memfd of the reply, which this process does not keep: {"dtype","shape","at"}, row-major from byte "at", a multiple of 64. A reply
// without numbers has no memfd. The most recently used recordings keep an episode and read ahead.
//
//	open     {"path","clock","rate","definitions":[...],"strict"}: a recording or dataset in any format. The reply has "handle" and the metadata; no
//	         episode is read.
//	episode  {"handle","episode":N,"known":N}: the streams of an episode with "times" [S] and "values" [S,D], its cameras and its series of clouds with
//	         their times, and notes about lost data. If requests are sequential, the next episodes are read ahead. "columns" of a stream is an index
//	         in the recording's column lists; the reply has the lists after the first "known".
//	align    {"handle","episode","plan","plan_path","targets","fuse":bool}: puts an episode on one clock. "plan" is the text of the plan file
//	         "plan_path", or of a call's arguments if "plan_path" is empty. "targets" is the dtype of the target times in the blob, which replace the
//	         plan's rate.
//	frames   {"handle","episode","camera","frames":[N...],"height","width"}: images [F,H,W,C], resized if height and width are set
//	cloud    {"handle","episode","clouds","cloud":N}: a cloud of a series, "points" [N,3] and "features" [N,F], with their columns
//	inspect  {"handle","episode","columns":bool}: the output of robocache inspect as "report" and "text", for one episode, or for all if it is -1
//	stats    {"dtype"}: statistics of the timestamps in the blob
//	close    {"handles":[...]}: closes recordings and policies that are open
//
// # Policies
//
//	policy   {"path"}: a folder that robocache train has written, on the CPU. The reply has "handle", "hz", "history", "chunk", "states" and "action".
//	act      {"handle","streams":[{"name","shape":[T,D]}]}: the actions for windows from streams, as policy.Predictor describes. The
//	         blob has the streams' elements as f64, one stream after the other. The reply has the array "actions" [C,A], f64.
//
// # Operations
//
// OP is {"op":NAME, "tensors":{NAME: {"dtype","shape","strides","at"}}, ...}. The operations are resample, fuse, resample_backward, fuse_backward and
// voxelize. Tensors have the names of fields in package ops: "Src", "Targets.Anchors", "Streams[2].SrcTimes"; "Targets" is a clock's tensor of times. An
// absent tensor is nil. Strides are in elements, row-major by default. For compute, "at" is the tensor's offset in the arena, a multiple of 64. For plans,
// "align" is its address modulo 16, 0 by default.
//
//	clock    {"start":ns,"rate":hz,"count":n}: a uniform clock, if no tensor gives the targets. "Targets.Anchors" and "Targets.Deltas" are int64
//	         nanoseconds, and refused beside "SrcTimes" in seconds
//	options  resample:
//	         {"interp","quat","period","window","channels":[{"lo","hi","interp","quat","period","window"}],"edge","fill","snap","max_gap","tolerance",
//	         "fill_gaps","trust_times"}. Package ops parses the names. Durations are integer nanoseconds, fill is a number, "nan", "inf" or "-inf". An
//	         absent option is the zero value. fuse: {"trust_times"}. voxelize:
//	         {"mode","reduce","order","max_points","max_voxels","empty"}
//	streams  fuse: one for each stream, [{"width","offset","options","shift":[],"scale":[],"clip_min":[],"clip_max":[]}]
//	grid     voxelize: {"min":[x,y,z],"max":[x,y,z],"size":[x,y,z]}
//
// # Life
//
// The child ends when the socket is closed, when the process that made the socket ends, even if another process holds the socket, and on SIGTERM. It
// ignores SIGINT and SIGHUP, because a terminal sends them to the whole process group, and the parent decides.
package serve
