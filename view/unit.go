package view

import (
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// suffixes has the units by column names' ends, such as "baro_pressure_pa" and "gyro_deg_s". PX4's gyro_rad is in rad/s.
var suffixes = map[string]string{
	"m_s_s": "m/s²", "m_s2": "m/s²", "m_s": "m/s", "mps": "m/s", "gyro_rad": "rad/s", "rad_s": "rad/s", "deg_s": "°/s", "dps": "°/s", "rad": "rad", "radians": "rad",
	"deg": "°", "degrees": "°", "meter": "m", "meters": "m", "metres": "m", "mm": "mm", "cm": "cm", "km": "km", "km_h": "km/h", "kmh": "km/h",
	"pa": "Pa", "hpa": "hPa", "kpa": "kPa", "mbar": "mbar", "celsius": "°C", "celcius": "°C", "temp_c": "°C", "temperature_c": "°C", "kelvin": "K", "ga": "G", "gauss": "G",
	"hz": "Hz", "rpm": "rpm", "mah": "mAh", "wh": "Wh", "volt": "V", "volts": "V", "mv": "mV", "amps": "A", "ma": "mA", "watt": "W", "watts": "W", "kg": "kg",
	"percent": "%", "pct": "%", "ns": "ns", "nsec": "ns", "nanosec": "ns", "us": "µs", "usec": "µs", "ms": "ms", "msec": "ms", "sec": "s", "seconds": "s",
	"kb": "kB", "kb_s": "kB/s", "bytes": "bytes",
}

// letters are suffixes that are units only after a quantity: "voltage_v" has one, "speed_v" none.
var letters = map[string]struct{ quantities, unit string }{
	"v": {"voltage", "V"}, "a": {"current", "A"}, "w": {"power", "W"}, "n": {"force", "N"}, "nm": {"torque", "N·m"}, "s": {"time duration age", "s"},
	"m": {"pos dist range height alt depth length width radius offset", "m"},
}

// standard has ROS messages' units, by type and field, as the message definitions and REP 103 state them. JointState has none,
// because a joint turns or slides.
var standard = map[string]string{
	"Imu angular_velocity": "rad/s", "Imu linear_acceleration": "m/s²", "Twist linear": "m/s", "Twist angular": "rad/s", "Accel linear": "m/s²", "Accel angular": "rad/s²",
	"Wrench force": "N", "Wrench torque": "N·m", "Pose position": "m", "Odometry position": "m", "Odometry linear": "m/s", "Odometry angular": "rad/s",
	"Transform translation": "m", "tfMessage translation": "m", "TFMessage translation": "m", "MagneticField magnetic_field": "T", "FluidPressure fluid_pressure": "Pa",
	"Temperature temperature": "°C", "Illuminance illuminance": "lx", "Range range": "m", "NavSatFix latitude": "°", "NavSatFix longitude": "°", "NavSatFix altitude": "m",
	"BatteryState voltage": "V", "BatteryState current": "A", "BatteryState temperature": "°C", "BatteryState charge": "Ah", "BatteryState capacity": "Ah",
}

var (
	inBrackets = regexp.MustCompile(` [\[(]([^\[\]()]*[^\[\]()\d][^\[\]()]*)[\])]$`) // "speed [m/s]", "angle (deg)"
	arrayEnd   = regexp.MustCompile(`(\[\d+\])+$`)
	rosType    = regexp.MustCompile(`^(?:(?:sensor|geometry|nav|tf2)_msgs|tf)/(?:msg/)?(\w+?)(?:WithCovariance)?(?:Stamped)?$`)
	rosField   = regexp.MustCompile(`(\w+)(\.[xyz])?$`) // "linear" of "twist.linear.x"
)

// unitOf returns the unit that a recording states for a column: in brackets after the name, at its end, or by a ROS message's type. It
// is empty if the recording states none.
func unitOf(s *dataset.Stream, column string) string {
	if m := inBrackets.FindStringSubmatch(column); m != nil {
		return m[1]
	}
	if of, field := rosType.FindStringSubmatch(s.Type), rosField.FindStringSubmatch(column); of != nil && field != nil {
		if unit := standard[of[1]+" "+field[1]]; unit != "" {
			return unit
		}
	}
	name := strings.ToLower(arrayEnd.ReplaceAllString(column, ""))
	name = name[strings.LastIndexAny(name, "./")+1:]
	if strings.Contains(name, "_per_") {
		return ""
	}
	for i, rest := 0, name; ; i++ { // the longest suffix first
		if unit := suffixes[rest]; unit != "" {
			return unit
		}
		if short := letters[rest]; i > 0 && slices.ContainsFunc(strings.Fields(short.quantities), func(q string) bool { return strings.Contains(name, q) }) {
			return short.unit
		}
		_, after, more := strings.Cut(rest, "_")
		if !more {
			return ""
		}
		rest = after
	}
}

// units returns a stream's units by column, or nil if it has none.
func units(s *dataset.Stream) []string {
	list := make([]string, len(s.Columns))
	some := false
	for k, c := range s.Columns {
		list[k] = unitOf(s, c.Name)
		some = some || list[k] != ""
	}
	if !some {
		return nil
	}
	return list
}
