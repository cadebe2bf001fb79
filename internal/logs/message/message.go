package message

import (
	"strings"

	"github.com/robocache/robocache/dataset"
)

// Kind is the kind of a field's value.
type Kind uint8

// The kinds. Time and Duration are two words in ROS 1. In ROS 2 they are ordinary structs of two fields.
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

// Array is the number of values in a field.
type Array uint8

const (
	// One value.
	One Array = iota
	// Fixed is an array of Field.Len values.
	Fixed
	// Sequence is an array of variable length, at most Field.Len unless that is 0.
	Sequence
)

// Type is the type of a message, or of a struct in a message.
type Type struct {
	Name   string // full name in the form of ROS 1, also for ROS 2: "geometry_msgs/Twist" for geometry_msgs/msg/Twist
	Fields []Field
}

// Field is a field of a Type. Constants are not fields.
type Field struct {
	Name  string
	Kind  Kind
	Type  *Type // of Struct
	Array Array
	Len   int
	Raw   string // the kind's name in the definition: "float64", "char"
}

// Shape is the columns and lists that a channel's messages decode to.
type Shape struct {
	Type    string           // the schema's name
	Columns []dataset.Column // of the table, D of them; 0 if no field is a single number
	Wide    bool             // whether the table is float64
	Lists   []ListShape
	Notes   dataset.Notes // of other fields; the subject is the flattened name
	Stamp   bool          // whether messages have a header's timestamp, which is not a column
	// Keyed is set if messages have a child_frame_id, which names the moving thing that a message is about.
	Keyed bool
	// Media is set if a message is an image, a packet of video or a cloud. The table and lists are then unused.
	Media Media
}

// ListShape is an array of variable length, of numbers or of structs of numbers.
type ListShape struct {
	Name    string           // flattened: "ranges", "transforms"
	Columns []dataset.Column // of one element
	Wide    bool
	// Labels is the name of the text that names the elements, or empty. It is an array in the same struct, for example JointState's "name", or
	// a field of the elements: "joints[].name".
	Labels string
	// Bytes is set if the elements are bytes. An array of more than 64 bytes is not taken for numbers.
	Bytes bool
	// Keyed and Stamp are set if each element has its own child_frame_id and timestamp, as in tf. Neither is a column.
	Keyed, Stamp bool
	// Padded is set for the arrays of a LaserScan. Messages may have other numbers of elements: a reader fills up the shorter ones.
	Padded bool
	label  int  // the index of its labels, or -1
	named  bool // whether the elements have a field for their name
}

// padScans marks the lists of a laser's scans, in which a beam has the same place in each message.
func (s *Shape) padScans() {
	for i := range s.Lists {
		l := &s.Lists[i]
		l.Padded = strings.HasSuffix(s.Type, "LaserScan") && l.Labels == "" && !l.Keyed && !l.Bytes
	}
}

// Media is the kind of a message that is decoded as a whole.
type Media uint8

// The kinds of media.
const (
	NoMedia Media = iota
	RawImage
	CompressedImage
	VideoPacket
	PointCloud
)

// Rows are decoded messages of one channel. The zero value is ready to use.
type Rows struct {
	Count   int       // messages
	F32     []float32 // [Count,D], unless Wide
	F64     []float64 // [Count,D] if Wide
	Inexact int       // integers that float64 does not hold, without those in lists
	Surplus Surplus   // bytes after messages that end before their bytes do
	Stamps  []int64   // [Count] ns, if Shape.Stamp
	Lists   []ListRows
	// Frames are the names of the coordinate frames, each once. Keys and Parents are indices into Frames.
	Frames []string
	// If Shape.Keyed, Keys are the messages' child_frame_id, and Parents the frames in which they move, [Count]; -1 is none.
	Keys, Parents []int32
	frames        map[string]int32
	// spans are the places of the current message's labels, and saved the lengths of the lists before that message.
	spans []span
	saved []listLengths
}

// Surplus is the number of messages that have bytes after the last field of their type, and the number of these bytes. Example: rosserial sends 5
// bytes of a std_msgs/Float32.
type Surplus struct{ Count, Bytes int }

// Add counts a message with bytes after it.
func (s *Surplus) Add(bytes int) { s.Count, s.Bytes = s.Count+min(bytes, 1), s.Bytes+bytes }

// Reset empties the rows and keeps their memory.
func (r *Rows) Reset() {
	for i := range r.Lists {
		r.Lists[i].reset()
	}
	*r = Rows{F32: r.F32[:0], F64: r.F64[:0], Stamps: r.Stamps[:0], Lists: r.Lists, Frames: r.Frames[:0], Keys: r.Keys[:0], Parents: r.Parents[:0],
		spans: r.spans, saved: r.saved}
}

// ListRows are the rows of a list.
type ListRows struct {
	Lengths []int32   // [Count]
	Inexact int       // integers that float64 does not hold
	F32     []float32 // [sum of Lengths, columns], unless Wide
	F64     []float64
	// Names are the different sets of names, in the order of their first messages, if ListShape.Labels. If a message has the elements in
	// another order than the first message of its set, they are reordered to that one.
	Names []Names
	Named []int32 // [Count], the index of a message's names; -1 if it has no elements, or not a name for each
	// Unnamed is set if a message has elements without a name for each, and Many if there are more than MaxNames sets.
	Unnamed, Many bool
	// Several is set if the list is in the elements of an array, and a message has several of these. The list is empty in that message.
	Several bool
	// Keys, Parents and Stamps are those of the elements, [sum of Lengths], if ListShape.Keyed and Stamp.
	Keys, Parents []int32
	Stamps        []int64
	// Dropped is set if the values are not kept, so that F32 and F64 are nil. It is never set if the list is Keyed. Without Labels, it is set
	// if lengths differ, or if a list of Bytes has more than 64 or one that is Padded more than MaxList. With Labels, lengths may differ, but not if the list is Unnamed; it is set if
	// there are Many sets, or more than MaxList numbers in a message.
	Dropped bool
	uneven  bool   // whether lengths differ
	texts   []byte // the current elements' names, if elements have a field for them
}

// reset empties the rows and keeps their memory.
func (l *ListRows) reset() {
	*l = ListRows{Lengths: l.Lengths[:0], F32: l.F32[:0], F64: l.F64[:0], Keys: l.Keys[:0], Parents: l.Parents[:0], Stamps: l.Stamps[:0],
		Named: l.Named[:0], texts: l.texts[:0]}
}

// Decoder decodes the messages of one channel. Its methods may be called from any goroutine, each with Rows of its own.
type Decoder interface {
	Shape() *Shape
	// Append adds a message to rows. If the message does not fit its type, the error is a *dataset.FormatError with an Offset from the
	// message's beginning, and rows stay unchanged.
	Append(rows *Rows, data []byte) error
	// Frame decodes a message with Shape.Media, except clouds. The result may alias data.
	Frame(data []byte) (Frame, error)
	// Cloud decodes a message with Shape.Media PointCloud.
	Cloud(data []byte) (*dataset.Cloud, error)
}

// Headed is a Decoder of messages that may begin with a std_msgs/Header. Header returns its sequence number and its frame without the rest of the
// message being decoded; 0 and nil if there is none. The frame aliases data.
type Headed interface {
	Header(data []byte) (sequence uint32, frame []byte)
}

// Frame is an image or a packet of video.
type Frame struct {
	Encoding      string // a name as in dataset.Media: "rgb8", "jpeg", "16UC1"
	Width, Height int    // 0 if the message has none
	Data          []byte // rows without padding, little-endian
	Stamp         int64
	Surplus       int // bytes after the message
}

// Learner is a Decoder whose Shape depends on the messages, as for JSON without a schema. Learn gets all messages of a channel, in any
// order and from any goroutine; then Shape and Append may be called.
type Learner interface {
	Learn(data []byte) error
}

// Schema is the schema of a channel.
type Schema struct {
	Name     string
	Encoding string
	Data     []byte
}
