package message

import (
	"strings"

	"github.com/robocache/robocache/dataset"
)

// Kind is the type of a field's value.
type Kind uint8

// The kinds. Time and Duration are two words in ROS 1. In ROS 2 they are ordinary structs with two fields.
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

// Array describes how many values a field has.
type Array uint8

const (
	// One value.
	One Array = iota
	// Fixed is an array with exactly Field.Len values.
	Fixed
	// Sequence is an array of variable length. It has at most Field.Len values, unless that is 0.
	Sequence
)

// Type is the type of a message, or of a struct inside a message.
type Type struct {
	Name   string // full name in ROS 1 form, also for ROS 2: "geometry_msgs/Twist" for geometry_msgs/msg/Twist
	Fields []Field
}

// Field is a field in a Type. Constants are not fields.
type Field struct {
	Name  string
	Kind  Kind
	Type  *Type // for Struct
	Array Array
	Len   int
	Raw   string // the kind's name in the definition: "float64", "char"
}

// Shape describes the columns and lists that a channel's messages decode to.
type Shape struct {
	Type    string           // the schema's name
	Columns []dataset.Column // the table's, D in number; none if no field is a single number
	Wide    bool             // whether the table is float64
	Lists   []ListShape
	Notes   dataset.Notes // about other fields; the subject is the flattened name
	Stamp   bool          // whether messages have a header timestamp, which is not a column
	// Keyed is set if messages have a child_frame_id, the frame that moves.
	Keyed bool
	// Media is set if messages are images, video packets or clouds. The table and lists are then unused.
	Media Media
}

// ListShape describes an array of variable length, with numbers or structs of numbers.
type ListShape struct {
	Name    string           // flattened: "ranges", "transforms"
	Columns []dataset.Column // for one element
	Wide    bool
	// Labels names the text that names the elements; empty if there is none. It is an array in the same struct, such as JointState's
	// "name", or a field in the elements: "joints[].name".
	Labels string
	// Bytes is set if the elements are bytes. Arrays over 64 bytes do not count as numbers.
	Bytes bool
	// Keyed and Stamp are set if each element has its own child_frame_id and timestamp, as in tf. Neither becomes a column.
	Keyed, Stamp bool
	// Padded is set for LaserScan arrays. Messages may have different element counts: a reader pads the shorter ones.
	Padded bool
	label  int  // index of its labels, or -1
	named  bool // whether elements have a name field
}

// padScans marks the lists in laser scans. A beam has the same index in each message.
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

// Rows holds decoded messages from one channel. The zero value is ready to use.
type Rows struct {
	Count   int       // messages
	F32     []float32 // [Count,D], unless Wide
	F64     []float64 // [Count,D] if Wide
	Inexact int       // integers that float64 cannot hold, except those in lists
	Surplus Surplus   // bytes that follow the messages' last fields
	Stamps  []int64   // [Count] ns, if Shape.Stamp
	Lists   []ListRows
	// Frames holds the distinct coordinate frame names. Keys and Parents are indices into Frames.
	Frames []string
	// If Shape.Keyed, Keys holds each message's child_frame_id and Parents the frame in which it moves, [Count]; -1 if absent.
	Keys, Parents []int32
	frames        map[string]int32
	// spans locates the current message's labels. saved holds the lists' lengths before that message.
	spans []span
	saved []listLengths
}

// Surplus counts messages with bytes after their type's last field, and these bytes. Example: rosserial sends 5 bytes for a
// std_msgs/Float32.
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

// ListRows holds a list's rows.
type ListRows struct {
	Lengths []int32   // [Count]
	Inexact int       // integers that float64 cannot hold
	F32     []float32 // [sum of Lengths, columns], unless Wide
	F64     []float64
	// Names holds the distinct sets of names in order of first appearance, if ListShape.Labels is set. If a message has the elements in
	// another order than its set, they are reordered.
	Names []Names
	Named []int32 // [Count], index of each message's names; -1 if it has no elements, or not one name for each
	// Unnamed is set if a message lacks a name for some element. Many is set if there are more than MaxNames sets.
	Unnamed, Many bool
	// Several is set if the list is inside an array's elements and some message has several of these. The list is then empty for that
	// message.
	Several bool
	// Keys, Parents and Stamps belong to the elements, [sum of Lengths], if ListShape.Keyed and Stamp.
	Keys, Parents []int32
	Stamps        []int64
	// Dropped is set if the values are not kept, so that F32 and F64 are nil. It is never set for a Keyed list. Without Labels, it is
	// set if lengths differ, or if Bytes has more than 64 elements, or a Padded list more than MaxList. With Labels, lengths may differ
	// unless the list is Unnamed; it is set if Many is set, or if a message has more than MaxList numbers.
	Dropped bool
	uneven  bool   // whether lengths differ
	texts   []byte // the current elements' names, if elements have a name field
}

// reset empties the rows and keeps their memory.
func (l *ListRows) reset() {
	*l = ListRows{Lengths: l.Lengths[:0], F32: l.F32[:0], F64: l.F64[:0], Keys: l.Keys[:0], Parents: l.Parents[:0], Stamps: l.Stamps[:0],
		Named: l.Named[:0], texts: l.texts[:0]}
}

// Decoder decodes one channel's messages. Its methods may be called from any goroutine, each with its own Rows.
type Decoder interface {
	Shape() *Shape
	// Append adds a message to rows. If the message does not match its type, the error is a *dataset.FormatError with an Offset from
	// the message's start, and rows stay unchanged.
	Append(rows *Rows, data []byte) error
	// Frame decodes a message with Shape.Media, except clouds. The result may alias data.
	Frame(data []byte) (Frame, error)
	// Cloud decodes a message with Shape.Media PointCloud.
	Cloud(data []byte) (*dataset.Cloud, error)
}

// Headed is a Decoder for messages that may begin with a std_msgs/Header, or have a frame_id as foxglove's images have. Header returns the
// sequence number and the frame without decoding the rest, or 0 and nil. The frame may alias data.
type Headed interface {
	Header(data []byte) (sequence uint32, frame []byte)
}

// Frame is an image or a video packet.
type Frame struct {
	Encoding      string // as in dataset.Media: "rgb8", "jpeg", "16UC1"
	Width, Height int    // 0 if the message has none
	Data          []byte // rows without padding, little-endian
	Stamp         int64
	Surplus       int // bytes after the message
}

// Learner is a Decoder with a Shape that depends on the messages, as for JSON without a schema. Call Learn with all messages from a
// channel, in any order and from any goroutine, before Shape and Append.
type Learner interface {
	Learn(data []byte) error
}

// Schema is a channel's schema.
type Schema struct {
	Name     string
	Encoding string
	Data     []byte
}
