// Package topics makes an episode from a log of messages. MCAP, ROS 1 bags and rosbag2 differ only in their containers.
//
// Channels of one topic and type are one stream, in the order of log time; messages of the same time keep file order. If a topic has a
// second type, that is a stream of its own: "/topic (pkg/Type)". Streams come in the order of their topics' names. An array of variable
// length is the stream "/topic.field" if its length is the same in all messages.
//
// Parts are decoded in parallel, each to its own rows, and the rows are joined in file order. Memory holds at most two parts for each
// processor, besides the joined rows.
package topics
