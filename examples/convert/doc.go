// Command convert makes a LeRobot v3.0 dataset of a ROS 2 bag, by a plan, and draws a batch of windows from it:
//
//	go run ./examples/convert
//	go run ./examples/convert -in demos/ -plan plan.yaml -o dataset
package main
