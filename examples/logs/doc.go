// Command logs reads a robot log, a ROS 1 bag, a rosbag2 folder or an MCAP file, and writes some of its topics on one clock as MCAP and as arrays:
//
//	go run ./examples/logs
//	go run ./examples/logs -in s3://BUCKET/run.mcap -clock header -o aligned.mcap /joint_states.position /cmd_vel
package main
