// Package store is where rosbag2 finds who reads the files of a bag, so that a program links the readers that it imports only.
package store
