package message

import "github.com/robocache/robocache/dataset"

func (l *library) addIDL(text string, line int) {
	l.put(&definition{name: "?", bad: bad(l.format, line, dataset.ErrUnsupported, "definition", "IDL", "msg")})
}
