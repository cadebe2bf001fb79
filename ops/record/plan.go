package record

// Version is that of the format. A plan of another is refused.
const Version = 1

// Plan is an exported plan. It is encoded as a header, which is the JSON of this struct, and a payload of bytes that the header refers to.
//
// Buffers are numbered together: the arguments first, then Buffers. Arguments are the caller's: each run may have others. The rest belongs to an instance of
// the plan: it is set up once, before the first run of the instance, and what runs leave in it stays for the next. So an instance has one run at a time, in
// the order of a stream. A run whose launches did not all succeed leaves an instance that is set up anew, fills and all, before it is used again.
//
// A run is the launches in their order, on one stream. [Launch].Dependent ones may begin before the launch in front of them has ended.
type Plan struct {
	Version   int        `json:"version"`
	Op        string     `json:"op"`
	Arguments []Argument `json:"arguments"`
	Images    []Image    `json:"images"`
	Buffers   []Buffer   `json:"buffers"`
	Launches  []Launch   `json:"launches"`
	// Counts is where Voxelize leaves what its counts are made of, for [Recorder.Counts]; absent of other operations.
	Counts  *Range `json:"counts,omitempty"`
	Payload []byte `json:"-"`
}

// Argument is memory that the caller gives to a run.
type Argument struct {
	Name    string `json:"name"`
	Bytes   int64  `json:"bytes"`   // from the address given; may be 0
	Written bool   `json:"written"` // it shares no memory with other arguments then
	Align   int    `json:"align"`   // the lowest four bits of its address, for which the plan was made
}

// Image is an image of kernels, which [ptx.Images] has.
type Image struct {
	Family string `json:"family"`
	File   string `json:"file"`
	Hash   string `json:"hash"` // SHA-256 of its bytes, in hex
	Bytes  int64  `json:"bytes"`
}

// The kinds of Buffer.
const (
	// Memory is memory of the device, at a multiple of 256.
	Memory = "memory"
	// Fault is 8 bytes of the device, all 0xff. A kernel that meets a bad value writes a smaller number there, which [Recorder.Explain] explains.
	Fault = "fault"
	// Flag is 4 bytes of pinned host memory, all 0, whose address is that on the device. Who writes a Fault writes the Flag behind it in the list,
	// so that nothing is read from the device as long as all is well. Both are reset once they were read.
	Flag = "flag"
)

// Buffer is memory of an instance. What is set up is first Fill, then Init, then Relocations; the rest has no particular content.
type Buffer struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
	Fill  *Fill  `json:"fill,omitempty"`
	Init  *Span  `json:"init,omitempty"` // of the payload: the buffer's first bytes
	// Relocations are of words of Init. One that is of an argument, as only Draw's have, binds the instance to where that lies.
	Relocations []Relocation `json:"relocations,omitempty"`
	// ID is the number under which the sink of a [Session] got what was uploaded to the buffer; absent of a buffer that is no session's.
	ID *int `json:"id,omitempty"`
}

// Fill is a value, 0 to 255, and the number of bytes, from a buffer's beginning, that have it.
type Fill [2]int64

// Span is a part of the payload: offset and bytes.
type Span [2]int64

// Relocation is a word of 8 bytes, least significant first, that is an address: where it lies, the number of a buffer, and the offset from the
// address of that.
type Relocation [3]int64

// Launch is a kernel launch. Before it, the kernel is allowed as much dynamic shared memory as Shared, if it is not already
// (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, which is never lowered).
type Launch struct {
	Image  int       `json:"image"`
	Entry  string    `json:"entry"`
	Grid   [3]uint32 `json:"grid"`
	Block  [3]uint32 `json:"block"`
	Shared uint32    `json:"shared"` // bytes of dynamic shared memory
	// Carveout is the percentage of shared memory that the kernel prefers (CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), set before the
	// launch; absent where it is left alone.
	Carveout *int `json:"carveout,omitempty"`
	// Dependent is the attribute CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: the launch may begin once every block of the kernel in front of it on
	// the stream has ended or said that it may.
	//
	// That is safe beside kernels of others on the stream. The first launch of a plan is dependent only if the operation's launch mode asked for it. One of
	// the mode "dependent" waits for the end of what is in front before it touches memory, and only then lets the next begin; so do the later launches of a
	// chain. One whose inputs are ready reads before that, and in a loader's plan also writes: see Session. Each launch ends after all in front of it has ended.
	// What a foreign kernel has to keep, if it is launched with this attribute itself, is the rule of all such kernels: one of its threads waits for what
	// is in front of it before the kernel ends. Others need nothing.
	Dependent   bool              `json:"dependent"`
	Params      []Param           `json:"params"`
	Relocations []ParamRelocation `json:"relocations"`
}

// Param is a parameter of a kernel: its offset in the payload, its bytes, and its offset in the kernel's parameter space.
type Param [3]int64

// ParamRelocation is a Relocation in a parameter, whose number comes first.
type ParamRelocation [4]int64

// Range is a part of a buffer.
type Range struct {
	Buffer int   `json:"buffer"`
	Offset int64 `json:"offset"`
	Bytes  int64 `json:"bytes"`
}
