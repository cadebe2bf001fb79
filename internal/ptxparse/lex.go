package ptxparse

import "fmt"

// SyntaxError is the first place in a text that this package cannot parse.
type SyntaxError struct {
	Line int // from 1
	Msg  string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("ptx: line %d: %s", e.Line, e.Msg) }

// token is a word, a quoted string, or one byte of punctuation. text is empty at the end of the input.
type token struct {
	text string
	line int
}

func (t token) String() string {
	if t.text == "" {
		return "the end of the text"
	}
	return fmt.Sprintf("%q", t.text)
}

// lexer splits PTX into tokens, without spaces and comments of both kinds.
type lexer struct {
	src  string
	pos  int
	line int
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '$' || c == '%'
}

func (l *lexer) errorf(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Msg: fmt.Sprintf(format, args...)}
}

func (l *lexer) at(i int) byte {
	if i < len(l.src) {
		return l.src[i]
	}
	return 0
}

// skip moves past spaces and comments.
func (l *lexer) skip() error {
	for l.pos < len(l.src) {
		c := l.src[l.pos]
		switch {
		case c == '\n':
			l.line++
			l.pos++
		case c == ' ' || c == '\t' || c == '\r':
			l.pos++
		case c == '/' && l.at(l.pos+1) == '/':
			for l.pos < len(l.src) && l.src[l.pos] != '\n' {
				l.pos++
			}
		case c == '/' && l.at(l.pos+1) == '*':
			start := l.line
			l.pos += 2
			for l.at(l.pos) != '*' || l.at(l.pos+1) != '/' {
				if l.pos >= len(l.src) {
					return l.errorf(start, "comment without end")
				}
				if l.src[l.pos] == '\n' {
					l.line++
				}
				l.pos++
			}
			l.pos += 2
		default:
			return nil
		}
	}
	return nil
}

func (l *lexer) next() (token, error) {
	if err := l.skip(); err != nil {
		return token{}, err
	}
	start, line := l.pos, l.line
	if start >= len(l.src) {
		return token{line: line}, nil
	}
	switch c := l.src[start]; {
	case c == '"':
		for l.pos++; ; l.pos++ {
			if l.pos >= len(l.src) || l.src[l.pos] == '\n' {
				return token{}, l.errorf(line, "string without end")
			}
			if l.src[l.pos] == '"' {
				break
			}
		}
		l.pos++
	case isWord(c):
		for isWord(l.at(l.pos)) {
			l.pos++
			// A double colon belongs to a qualifier such as L1::no_allocate. A single colon ends a label.
			if l.at(l.pos) == ':' && l.at(l.pos+1) == ':' && isWord(l.at(l.pos+2)) {
				l.pos += 2
			}
		}
	default:
		l.pos++
	}
	return token{text: l.src[start:l.pos], line: line}, nil
}
