// Package defs has definitions of ROS messages for recordings that lack them: definitions in the caller's files, and built-in
// definitions of common ROS 2 messages for each distribution.
//
// scripts/gen_ros_definitions.py writes definitions.txt. It has the fields of std_msgs, geometry_msgs, sensor_msgs and the like, without
// constants, defaults and comments. A line "= pkg/Type" begins a type. Distributions follow if the type is not the same in all.
package defs
