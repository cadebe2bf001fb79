package message

import "github.com/robocache/robocache/dataset"

// Kind is what a field holds.
type Kind uint8

// The kinds. Time and Duration are ROS 1's two words; of ROS 2 they are structs of two fields like any other.
const (
	Bool Kind = iota
	Int8
	Uint8
	Int16
	Uint16
	Int32
	Uint32
	Int64
	Uint64
	Float32
	Float64
	Time
	Duration
	String
	WString
	Struct
)

// Array says how often a field holds its kind.
type Array uint8

const (
	// One value.
	One Array = iota
	// Fixed is an array of Field.Len values, always.
	Fixed
	// Sequence is an array whose length each message says; Field.Len bounds it, 0 does not.
	Sequence
)

// Type is a message's, or that of one in it.
type Type struct {
	Name   string // by ROS' full name, "geometry_msgs/Twist", also of ROS 2, which says geometry_msgs/msg/Twist
	Fields []Field
}

// Field is one of a Type; constants are none.
type Field struct {
	Name  string
	Kind  Kind
	Type  *Type // of Struct
	Array Array
	Len   int
	Raw   string // the definition's own name of the kind: "float64", "char"
}

// Shape is what the messages of a channel become.
type Shape struct {
	Type    string           // the schema's name
	Columns []dataset.Column // of the table, D of them; 0 where no field is a single number
	Wide    bool             // whether the table is float64
	Lists   []ListShape
	Notes   dataset.Notes // of fields that are neither; the subject is the flattened name
	Stamp   bool          // whether there is a header's timestamp, which is no column
	// Keyed says that messages have a child_frame_id, which tells those of one moving thing from those of others.
	Keyed bool
	// Media says what a message as a whole is, if it is an image, a video's packet or a cloud: then its table and lists are not used.
	Media Media
}

// ListShape is an array of numbers, or of structs of numbers, that has the length that each message says.
type ListShape struct {
	Name    string           // flattened: "ranges", "transforms"
	Columns []dataset.Column // of one element
	Wide    bool
	// Labels is the name of the text that names its elements: of an array beside it in the same struct, as JointState's "name" is, or of a field of the
	// elements, "joints[].name"; empty if none.
	Labels string
	// Bytes says that the elements are bytes: an array of more than 64 of them is taken for something else than numbers.
	Bytes bool
	// Keyed and Stamp say that each element has a child_frame_id and a timestamp of its own, as those of tf have: neither is a column.
	Keyed, Stamp bool
	label        int  // which of the messages' labels it has, or -1
	named        bool // whether its elements have their names themselves
}

// Media is what a message is as a whole.
type Media uint8

// The kinds of media.
const (
	NoMedia Media = iota
	RawImage
	CompressedImage
	VideoPacket
	PointCloud
)

// Rows are messages of one channel, decoded. The zero value is ready.
type Rows struct {
	Count   int       // messages
	F32     []float32 // [Count,D], unless Wide
	F64     []float64 // [Count,D] if Wide
	Inexact int       // integers that a float64 could not hold, beside those in the lists
	Stamps  []int64   // [Count] ns, where Shape.Stamp
	Lists   []ListRows
	// Frames are the names of coordinate frames in these rows, each once, that Keys and Parents count.
	Frames []string
	// Keys are the messages' child_frame_id and Parents the frame that it is in, [Count], where Shape.Keyed; -1 is none.
	Keys, Parents []int32
	frames        map[string]int32
	// spans are where the labels are of the message that is being decoded, and saved how long the lists were before it.
	spans []span
	saved []saved
}

// Reset makes the rows empty, in the memory that they have.
func (r *Rows) Reset() {
	for i := range r.Lists {
		r.Lists[i].reset()
	}
	*r = Rows{F32: r.F32[:0], F64: r.F64[:0], Stamps: r.Stamps[:0], Lists: r.Lists, Frames: r.Frames[:0], Keys: r.Keys[:0], Parents: r.Parents[:0],
		spans: r.spans, saved: r.saved}
}

// ListRows are a list's.
type ListRows struct {
	Lengths []int32   // [Count]
	Inexact int       // integers that a float64 could not hold
	F32     []float32 // [sum of Lengths, columns], unless Wide
	F64     []float64
	// Names are the different sets of names that messages give the elements, where ListShape.Labels, in the order in which they came. Elements that come in
	// another order than those of the first message of their set are put in that one.
	Names []Names
	Named []int32 // [Count], which of Names a message has; -1 if it has no elements, or not a name for each
	// Unnamed says that a message has elements and not a name for each, and Many that there are more than MaxNames sets.
	Unnamed, Many bool
	// Keys, Parents and Stamps are those of elements, [sum of Lengths], where ListShape.Keyed and Stamp.
	Keys, Parents []int32
	Stamps        []int64
	// Dropped says that the values are not kept, and F32 and F64 nil: of a list that is not Keyed a message's length is not the first's, or is more than
	// 64 Bytes. Of one that has Labels lengths may differ unless it is Unnamed, and there are not Many names, and up to MaxList numbers a message.
	Dropped bool
	uneven  bool   // whether lengths differ
	texts   []byte // the names of the elements that are being read, where these have them themselves
}

// reset makes the rows empty, in the memory that they have.
func (l *ListRows) reset() {
	*l = ListRows{Lengths: l.Lengths[:0], F32: l.F32[:0], F64: l.F64[:0], Keys: l.Keys[:0], Parents: l.Parents[:0], Stamps: l.Stamps[:0],
		Named: l.Named[:0], texts: l.texts[:0]}
}

// Decoder decodes the messages of one channel. Its methods may be called from any goroutine, each with Rows of its own.
type Decoder interface {
	Shape() *Shape
	// Append adds a message to rows. A message that breaks its type is a *dataset.FormatError whose Offset counts from the message's beginning, and rows
	// are as before.
	Append(rows *Rows, data []byte) error
	// Frame decodes a message that is Shape.Media, but not Clouds: what it holds may alias data.
	Frame(data []byte) (Frame, error)
	// Cloud decodes a message that is a PointCloud.
	Cloud(data []byte) (*dataset.Cloud, error)
}

// Frame is a message that is an image or a video's packet.
type Frame struct {
	Encoding      string // as dataset.Media has it: "rgb8", "jpeg", "16UC1"
	Width, Height int    // 0 where the message does not say
	Data          []byte // rows without padding between them; big-endian pixels are turned
	Stamp         int64
}

// Learner is a Decoder that must see messages before its Shape is known, as of JSON without a schema: all of a channel's messages, in any order, from any
// goroutine, then Shape, then Append.
type Learner interface {
	Learn(data []byte) error
}

// Schema is that of a channel.
type Schema struct {
	Name     string
	Encoding string
	Data     []byte
}
