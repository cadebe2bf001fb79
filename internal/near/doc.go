// Package near finds what somebody may have meant.
package near
