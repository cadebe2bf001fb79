// Package defs has the definitions of ROS messages that recordings lack: those of files that the caller names, and built-in ones of ROS 2's common
// messages, of each distribution.
//
// definitions.txt, which scripts/gen_ros_definitions.py writes, has the fields of std_msgs, geometry_msgs, sensor_msgs and the like, without constants,
// defaults and comments. A line "= pkg/Type" begins a type; distributions follow where the type is not the same in all.
package defs
