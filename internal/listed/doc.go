// Package listed joins names for people, who read a few of many.
package listed
