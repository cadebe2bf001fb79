package record

// Version is the version of the format. A plan with another version is refused.
const Version = 1

// Plan is an exported plan. It is encoded as a header, which is this struct as JSON, and a payload with bytes that the
// header refers to.
//
// Buffers have consecutive numbers: first the arguments, then Buffers. The caller supplies the arguments, and may
// change them in each run. The buffers belong to an instance of the plan. An instance is set up once, before its first
// run, and each run leaves data in the buffers for the next. So an instance has one run at a time, in the order on a
// stream. If a launch in a run failed, set the instance up again, with all fills, before the next run.
//
// A run makes the launches in their order, on one stream. If [Launch].Dependent is set, a launch may begin before the
// launch before it has ended.
type Plan struct {
	Version   int        `json:"version"`
	Op        string     `json:"op"`
	Arguments []Argument `json:"arguments"`
	Images    []Image    `json:"images"`
	Buffers   []Buffer   `json:"buffers"`
	Launches  []Launch   `json:"launches"`
	// Counts is the place where Voxelize leaves the data for its counts, for [Recorder.Counts]. Other operations do not
	// have it.
	Counts  *Range `json:"counts,omitempty"`
	Payload []byte `json:"-"`
}

// Argument is memory that the caller supplies to a run.
type Argument struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`   // from the supplied address; may be 0
	Written bool   `json:"written"` // if true, it shares no memory with other arguments
	Align   int    `json:"align"`   // the required lowest four bits of the address
}

// Image is a kernel image from [ptx.Images].
type Image struct {
	Family string `json:"family"`
	File   string `json:"file"`
	Hash   string `json:"hash"` // SHA-256 of the image's bytes, in hex
	Bytes  int64  `json:"bytes"`
}

// The kinds for Buffer.Kind.
const (
	// Memory is device memory, with an address that is a multiple of 256.
	Memory = "memory"
	// Fault is 8 bytes on the device, all 0xff. If a kernel finds a bad value, it writes a smaller number there, and
	// [Recorder.Explain] returns the error for it.
	Fault = "fault"
	// Flag is 4 bytes in pinned host memory, all 0; the address is the device's. If a kernel writes a Fault, it also
	// writes the next Flag in the list. So if no flag is set, the device need not be read. Reset both after reading
	// them.
	Flag = "flag"
)

// Buffer is memory in an instance. To set it up, apply Fill, then Init, then Relocations. The rest has unspecified
// contents.
type Buffer struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	Fill  *Fill  `json:"fill,omitempty"`
	Init  *Span  `json:"init,omitempty"` // in the payload: the buffer's first bytes
	// Relocations are addresses within Init. If one refers to an argument, which only happens in a Draw, the instance
	// is bound to that argument's address.
	Relocations []Relocation `json:"relocations,omitempty"`
	// ID is the buffer's number in calls to a [Session]'s sink. Buffers outside a session do not have it.
	ID *int `json:"id,omitempty"`
}

// Fill is a byte value, 0 to 255, and the number of bytes at the buffer's beginning that have it.
type Fill [2]int64

// Span is a part of the payload: its offset and its length in bytes.
type Span [2]int64

// Relocation is an 8-byte address in a buffer's Init, least significant byte first. Its three numbers are the word's
// offset in Init, the number of the buffer that the address is in, and the offset from that buffer's beginning.
type Relocation [3]int64

// Launch is a kernel launch. Before it, raise the kernel's limit on dynamic shared memory to Shared, if it is lower
// (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, which is never lowered).
type Launch struct {
	Image  int       `json:"image"`
	Entry  string    `json:"entry"`
	Grid   [3]uint32 `json:"grid"`
	Block  [3]uint32 `json:"block"`
	Shared uint32    `json:"shared"` // dynamic shared memory in bytes
	// Carveout is the percentage of shared memory that the kernel prefers
	// (CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT). Set it before the launch. If it is absent, do not change
	// it.
	Carveout *int `json:"carveout,omitempty"`
	// Dependent is the attribute CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION. With it the launch may begin
	// when every block in the kernel before it on the stream has ended or allowed the launch.
	//
	// Other programs' kernels may run on the same stream. A plan's first launch is dependent only if the operation's
	// launch mode requested it. In the mode "dependent" a kernel waits for the end of the earlier work before it
	// touches memory, and only then lets the next kernel begin. Later launches in the plan do the same. In the mode
	// "ready" a kernel reads before that, and in a loader's plan it also writes: see [Session]. Each launch ends after
	// all earlier work has ended. If another program launches its own kernel with this attribute, one of that kernel's
	// threads must wait for the earlier work before the kernel ends. Kernels without the attribute need nothing.
	Dependent   bool              `json:"dependent"`
	Params      []Param           `json:"params"`
	Relocations []ParamRelocation `json:"relocations"`
}

// Param is a kernel parameter: its offset in the payload, its length in bytes, and its offset in the kernel's parameter
// space.
type Param [3]int64

// ParamRelocation is an address in a parameter: the parameter's number, then the three numbers as in a [Relocation].
type ParamRelocation [4]int64

// Range is a part of a buffer, in bytes.
type Range struct {
	Buffer int   `json:"buffer"`
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}
