// Package mcaplog is how readers of formats that lie in MCAP files, such as those of rosbag2, have their messages: package mcap, which they import,
// reads them, and of itself makes episodes.
package mcaplog
