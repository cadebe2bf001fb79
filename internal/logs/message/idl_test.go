package message

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
)

const imuIDL = line80 + `IDL: sensor_msgs/msg/Imu
// generated from something
#include "geometry_msgs/msg/Quaternion.idl"

module sensor_msgs {
  module msg {
    typedef double double__9[9];
    module Imu_Constants {
      const int32 COUNT = 9;
    };
    @verbatim (language="comment", text=
      "A device's (own) measurements; " "and } what not")
    struct Imu {
      @verbatim (language="comment", text="the time")
      std_msgs::msg::Header header;
      geometry_msgs::msg::Quaternion orientation;
      @unit(value="rad")
      double__9 orientation_covariance;
      sequence<double, 10> some;
      sequence<string> names;
      string<22> text;
      @default (value=TRUE)
      boolean a, b;
      unsigned long long big[2][Imu_Constants::COUNT];
      Mode mode;
    };
  };
};
` + line80 + `IDL: std_msgs/msg/Header
module std_msgs { module msg { struct Header { builtin_interfaces::msg::Time stamp; string frame_id; }; }; };
` + line80 + `IDL: builtin_interfaces/msg/Time
module builtin_interfaces { module msg { struct Time { int32 sec; /* two
lines */ uint32 nanosec; }; }; };
` + line80 + `MSG: geometry_msgs/msg/Quaternion
float64 x 0
float64 y 0
float64 z 0
float64 w 1
` + line80 + `IDL: sensor_msgs/msg/Mode
module sensor_msgs { module msg { struct Mode { uint8 structure_needs_at_least_one_member; }; }; };
`

func idlMessage() []byte {
	w := cdr().put(int32(1), uint32(2), "base")
	for i := range 13 {
		w.put(float64(i))
	}
	w.put([]float64{7, 8}, []string{"a", "b"}, "text", true, false)
	for i := range 18 {
		w.put(uint64(i))
	}
	return w.put(uint8(0)).b
}

func TestIDLIsReadAsMsgIs(t *testing.T) {
	d, err := New("cdr", Schema{"sensor_msgs/msg/Imu", "ros2idl", []byte(imuIDL)}, nil)
	require.NoError(t, err)
	shape := d.Shape()
	assert.True(t, shape.Stamp)
	got := names(shape.Columns)
	require.Len(t, got, 4+9+2+18)
	assert.Equal(t, dataset.Column{Name: "orientation.w", Type: "float64", Rotation: dataset.RotationXYZW}, shape.Columns[3])
	assert.Equal(t, "orientation_covariance[8]", got[12])
	assert.Equal(t, dataset.Column{Name: "b", Type: "bool", Integer: true}, shape.Columns[14])
	assert.Equal(t, dataset.Column{Name: "big[17]", Type: "uint64", Integer: true}, shape.Columns[32])
	assert.Equal(t, dataset.Notes{field(dataset.CodeTextFields, "text")}, shape.Notes)
	assert.Equal(t, []ListShape{{Name: "some", Columns: []dataset.Column{{Type: "float64"}}, Wide: true, Labels: "names"}}, shape.Lists)
	want := []float64{}
	for i := range 13 {
		want = append(want, float64(i))
	}
	want = append(want, 1, 0)
	for i := range 18 {
		want = append(want, float64(i))
	}
	var rows Rows
	require.NoError(t, d.Append(&rows, idlMessage()))
	assert.Equal(t, want, rows.F64)
	assert.Equal(t, []string{"a", "b"}, rows.Lists[0].Names[0].List)
}

func TestIDLThatROSDoesNotHaveIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"struct A { @optional long x; };":                  `IDL: not supported: got "@optional"`,
		"@mutable struct A { long x; };":                   `IDL: not supported: got "@mutable"`,
		"@extensibility(MUTABLE)\nstruct A { long x; };":   `line 1: IDL: not supported: got "@extensibility(MUTABLE)"`,
		"struct A : B { long x; };":                        "without a base",
		"struct A { sequence<sequence<long>> x; };":        "a sequence of arrays",
		"struct A { long double x; };":                     `IDL: corrupt: got "x", want ";"`,
		"struct A { wchar x; };":                           `got "wchar"`,
		"\nunion A switch (long) { case 1: long x; };":     `line 2: IDL: not supported: got "union"`,
		"struct A { long x; long x; };":                    `"x twice"`,
		"struct A { long x":                                `want ";"`,
		"struct A { long x[4294967295]; };":                "a number up to",
		"struct A { long x[N]; };":                         "a number up to",
		"struct A { long x[32768][32768][32768]; };":       "too large",
		"struct A { B x; };":                               "none of p/B",
		"@verbatim(struct A { long x; };":                  `want ")"`,
		"module a { module b {":                            `truncated: got the end, want "}"`,
		"enum E { A } = 3;":                                "want module",
		"struct A { string<0x>s; };":                       "a number",
		"const long N = 3; struct A { long x[N]; }; junk;": "",
	} {
		_, err := New("cdr", Schema{"p/msg/A", "ros2idl", []byte("module p { module msg { " + text + " }; };")}, nil)
		if want == "" {
			assert.NoError(t, err, "what comes before junk is there")
			continue
		}
		if assert.Error(t, err, text) {
			assert.ErrorContains(t, err, want, text)
		}
	}
}
