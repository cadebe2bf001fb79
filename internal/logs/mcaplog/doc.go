// Package mcaplog gives readers of formats inside MCAP files, such as rosbag2, access to the messages. Package mcap reads the messages,
// and also makes episodes itself; the readers of these formats import it.
package mcaplog
