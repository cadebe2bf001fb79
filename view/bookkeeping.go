package view

import (
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

const (
	end  = `(\[\d+\])*$`                                       // an array is hidden as a whole or not at all
	unit = `(_([num]|nano|micro|milli)?s(ec(ond)?s?)?)*` + end // a time's unit, such as _ms and _nanosec
)

// bookkeeping matches names for times, counters and ids, in lower case with words apart: "header.stamp.sec", "timestamp_sample", "frame_index",
// "device_id". Durations, such as "cycle_time", and counts for things, such as "satellite_count", are no bookkeeping.
var bookkeeping = regexp.MustCompile(`(^|[_./])(time_?)?stamps?([_./]|` + end + `)|(^|[_./])epoch` + unit +
	`|(^|[./])((boot|utc|unix|gps|sys|system|sim|wall|host|device|sensor|header|log|publish|receive|received|capture|arrival|armed|arming|takeoff|start|event|` +
	`frame|ros|server|client)_)?times?(_(boot|utc|unix|gps))*` + unit +
	`|(^|[_./])(seq|sequence|counter|u?u?ids?)` + end +
	`|(^|[./])(frame|sample|episode|task|step|row|message|msg|packet|tick|iteration)?_?(index|idx|count|number|frame|tick|iteration)` + end)

var (
	newWord = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	axis    = regexp.MustCompile(`(?i)thumb|(^|[_./])iq$`) // beside it an index is a finger, and an id a current
)

// hidden reports for each column whether the page hides it at first: times, counters and ids among other columns.
func hidden(columns []dataset.Column) []bool {
	list := make([]bool, len(columns))
	vector := slices.ContainsFunc(columns, func(c dataset.Column) bool { return axis.MatchString(c.Name) })
	for k, c := range columns {
		name := strings.ToLower(newWord.ReplaceAllString(c.Name, "${1}_$2"))
		list[k] = bookkeeping.MatchString(name) && !(vector && (strings.HasSuffix(name, "index") || strings.HasSuffix(name, "id")))
	}
	if !slices.Contains(list, false) {
		clear(list)
	}
	return list
}
