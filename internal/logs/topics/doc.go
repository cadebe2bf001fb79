// Package topics converts a message log to an episode. MCAP, ROS 1 bags and rosbag2 differ only in their containers.
//
// Channels with the same topic and type form one stream, ordered by log time; messages with equal times keep file order. If a topic has
// a second type, that becomes a separate stream: "/topic (pkg/Type)". Streams are sorted by topic name. An array of variable length
// becomes the stream "/topic.field" if its length is the same in all messages.
//
// Parts are decoded in parallel, each to its own rows, and the rows are joined in file order. At most two parts per processor are in
// memory, besides the joined rows.
package topics
