package ulog

type parser struct {
	data []byte
	opt  Options
}

func (p *parser) parse() (*Log, error) { return &Log{}, nil }
