// Package defs has definitions of ROS messages for recordings without them: definitions in files that the caller names, and built-in
// definitions of ROS 2's common messages, for each distribution.
//
// scripts/gen_ros_definitions.py writes definitions.txt. It has the fields of std_msgs, geometry_msgs, sensor_msgs and the like, without
// constants, defaults and comments. A line "= pkg/Type" begins a type. Distributions follow if the type is not the same in all.
package defs
