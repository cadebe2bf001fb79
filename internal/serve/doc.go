// Package serve is the child process of the Python package: it plans, reads, decodes and computes on the CPU, and never touches a GPU. It speaks on a
// Unix socket with the process that started it, in frames.
//
// # Frames
//
// A frame is a header of 16 bytes, little endian: the magic "RCF1", the bytes of JSON, the bytes of the blob, and the number of file descriptors, 0
// or 1; each 4 bytes. Then comes the JSON, an object, and then the blob. A descriptor is sent by SCM_RIGHTS with the first byte of the header. JSON
// has at most 64 MiB, a blob 1 GiB: more is refused before anything is allocated for it, and what is allocated grows with what arrives. After a frame
// that is none, the child says so and ends, since nobody knows where the next would begin.
//
// Each request has one reply, and the next request comes after it. A request is {"do": NAME, ...}; a field that it does not have is refused by name.
// Integers are exact in all of their 64 bits. A reply is {"ok": true, ...}, or {"error": {...}} with the fields of [Failure], those that are known.
// After an error of a request the child goes on. One that panics is an error of class "PanicError", whose stack goes to standard error.
//
// # Requests
//
//	hello    {"protocol":1,"version":"0.3.0"}: the first request. The reply has "protocol", "plan" (the version of exported plans), "version",
//	         "images" (the hash of all kernel images) and "platform". Another protocol, and another version, is an error of class "VersionError"
//	         that names both, after which the child ends. Versions are compared unless "dev" is in one of them.
//	arena    {"bytes":N}: memory of both sides. The reply has "bytes", at least N, and its descriptor: a memfd that cannot shrink or grow, which
//	         both map. It replaces the connection's earlier arena.
//	compute  {"request":OP}: an operation on the CPU on tensors in the arena, which no output shares with another tensor. The reply has "counts" of
//	         a voxelize.
//	target   {"target":{"name","driver","attributes","kernels"}}: a device, as package ops/record's Target has it. The reply has "target", its
//	         number here, which is the same for the same description, and "reason", which kernel images are taken and why.
//	plan     {"target":NUMBER,"request":OP}: the exported plan of an operation there. The reply has its header as "plan" and its payload as the
//	         blob; see package ops/record. It is the same for every request that is the same, whatever came before.
//	image    {"hash":SHA-256}: a kernel image that a plan names. The reply's blob has its bytes.
//	explain  {"target","request","fault":N,"contents":{"SrcOffsets":[...]}}: the reply is the error that the word stands for which a run of the plan
//	         left in its fault buffer. Contents are those of the offsets and lengths that the operation was given: where a row begins says which row
//	         a place is in.
//	counts   {"target","request"}, and as the blob the bytes that the plan's "counts" names, after a run of a voxelize. The reply has "counts":
//	         "points", "in_range", "out_of_range", "not_finite", "voxels", "dropped_voxels" and "dropped_points".
//
// A connection has one loader at most. Its batches lie in slots of one memfd, or, of a resident one, are replayed on a GPU:
//
//	loader   what batches are of; the fields are those of robocache batches, lengths of time in seconds. The reply describes the "arrays" of a slot,
//	         and its descriptor has "slots" times "slot_bytes".
//	next     {"release":[...],"poll"}: gives slots back and takes the next batch. The reply has its "slot", which stays the client's until it is
//	         given back, "epoch", "last" (of the epoch) and "state", which goes on behind it. With poll it does not wait, and slot -1 is that there
//	         is none yet.
//	resume   {"state"}: the next batch is the one behind a state. The reply has its "epoch".
//	report   {}: what became of the recordings' samples and windows so far, and what was waited for.
//	resident the fields of loader but "slots", and "target". The reply says about how many "bytes" the loader will take there, and its descriptor is a
//	         "window" of so many bytes. Nothing is read of it before the first upload.
//	upload   {}: what was in the window is done with. The reply has a "piece", that many "bytes" now in the window, which go to offset "at" of the buffer
//	         with the number "buffer", of "size" bytes; or at the end the "batch": its "plan", whose payload is the blob and whose buffers have the
//	         numbers of uploads as "id", the "arrays" of a batch in the plan's arguments, and the "cursors", buffers and offsets of the words
//	         epoch and positions taken. resume then looks at a state, and the client writes the cursors.
//
// # Recordings
//
// Arrays come in a memfd of the reply's own, which this process does not keep: {"dtype","shape","at"}, row-major from byte "at", a multiple of 64. A reply
// without numbers has none. Of those that are open the few that were asked last keep an episode, and read ahead.
//
//	open     {"path","clock","rate","definitions":[...],"strict"}: a recording or dataset of any format. The reply has "handle", and what it says of itself; no episode is read.
//	episode  {"handle","episode":N,"known":N}: an episode's streams with "times" [S] and "values" [S,D] as recorded, its cameras with the times of their frames,
//	         its series of clouds with those of the clouds, and what was left out or lost. Who asks for one after the other finds the next ones read. A stream's "columns" is the place of their list among
//	         the recording's, of which the reply has those after the ones that are known.
//	align    {"handle","episode","plan","plan_path","targets","fuse":bool}: an episode on one clock. The plan is a plan file's text, of the file "plan_path", or
//	         made of a call's arguments if that is empty. "targets" is the dtype of the clock's times, which the blob has, instead of the plan's rate.
//	frames   {"handle","episode","camera","frames":[N...],"height","width"}: images [F,H,W,C], as they are or resized
//	cloud    {"handle","episode","clouds","cloud":N}: a cloud of a series, "points" [N,3] and "features" [N,F], with their columns
//	inspect  {"handle","episode","columns":bool}: what robocache inspect says, "report" and "text", of an episode or, if it is -1, all
//	stats    {"dtype"}: what the clock is like whose timestamps the blob has
//	close    {"handles":[...]}: those that are open are closed
//
// # Operations
//
// OP is {"op":NAME, "tensors":{NAME: {"dtype","shape","strides","at"}}, ...}. Names of operations are resample, fuse, resample_backward,
// fuse_backward and voxelize, those of tensors the fields of package ops' structs: "Src", "Targets.Anchors", "Streams[2].SrcTimes"; "Targets" is a
// clock's tensor of times. What is not given is nil. Strides are in elements, row-major unless given. "at" is where in the arena a tensor begins, a
// multiple of 64, for compute; for plans "align" is its address modulo 16, 0 unless given.
//
//	clock    {"start":ns,"rate":hz,"count":n}: a uniform clock, where no tensor gives the targets
//	options  resample:
//	         {"interp","quat","period","window","channels":[{"lo","hi","interp","quat","period","window"}],"edge","fill","snap","max_gap","tolerance",
//	         "fill_gaps","trust_times"}. Names are those that package ops parses, lengths of time integer nanoseconds, and fill is a number, "nan",
//	         "inf" or "-inf". What is absent is the zero value. fuse: {"trust_times"}. voxelize:
//	         {"mode","reduce","order","max_points","max_voxels","empty"}
//	streams  fuse: one for each stream, [{"width","offset","options","shift":[],"scale":[],"clip_min":[],"clip_max":[]}]
//	grid     voxelize: {"min":[x,y,z],"max":[x,y,z],"size":[x,y,z]}
//
// # Life
//
// The child ends when the socket ends, when the process that made the socket is gone, whoever else holds it, and on SIGTERM. It ignores SIGINT and
// SIGHUP, which a terminal sends to all of a group: the process that started it decides.
package serve
