package view

import (
	"crypto/subtle"
	"net"
	"net/http"
)

// URL returns the page's address on a host with its port, for example "http://127.0.0.1:7380/?token=4f9c...". Each server
// has its own token. Every request needs it: in the address, or in the cookie that the first answer sets.
func (s *Server) URL(host string) string { return "http://" + host + "/?token=" + s.token }

// cookieName returns the cookie's name, which includes the port because browsers send a host's cookies to all its ports.
func cookieName(r *http.Request) string {
	_, port, _ := net.SplitHostPort(r.Host) // empty if the host has none
	return "robocache-view-" + port
}

// admits reports whether a token is the server's. The comparison takes the same time for any token.
func (s *Server) admits(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) == 1
}

// known reports whether a request has the cookie that welcome sets.
func (s *Server) known(r *http.Request) bool {
	c, err := r.Cookie(cookieName(r))
	return err == nil && s.admits(c.Value)
}

// welcome sets the cookie, and sends the browser to the address without the token.
func (s *Server) welcome(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: s.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	if crossSite(r) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Refresh", "0;url=./") // a redirect would be without the cookie, because the link is another site's
		return
	}
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
}

// crossSite reports whether another site's or origin's page made a request. Browsers without Sec-Fetch-Site send Origin if a script requests.
func crossSite(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	return r.Header.Get("Sec-Fetch-Site") == "cross-site" || origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host
}
