// Package topics makes an episode of a log of messages: MCAP, ROS 1 bags and rosbag2 differ in their containers only.
//
// Channels of one topic and type are one stream, in the order of log time, messages of one time in file order. A topic's second type makes a stream of its
// own, "/topic (pkg/Type)". Streams come in the order of their topics' names. An array whose length the messages say is the stream "/topic.field" if it
// has the same length in all of them.
//
// Parts are decoded in parallel, each to rows of its own, which are joined in file order; no more than twice as many parts as there are processors are in
// memory beside what was joined.
package topics
