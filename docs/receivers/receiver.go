// A receiver of webhooks for Go 1.19 or later, with nothing but the standard library.
//
//	WEBHOOK_SECRET='…' PORT=8080 go run receiver.go
//
// It listens on loopback, behind whatever ends TLS.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	tolerance    = 5 * time.Minute // A recorded request can be sent again for this long.
	bodyBytesMax = 1 << 20         // Before the signature is known to be good, whoever sends may send anything.
	window       = 2 * time.Minute // How long an event that was received is remembered.
)

var (
	isTimestamp = regexp.MustCompile(`^[0-9]{1,16}$`)
	isDigest    = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// isGenuine tells whether these bytes were signed with the secret, and, with a tolerance above 0, of late.
func isGenuine(header string, body []byte, secret string, tolerance time.Duration) bool {
	timestamp := ""
	var digests []string
	for _, pair := range strings.Split(header, ",") {
		key, value, _ := strings.Cut(pair, "=")
		switch key {
		case "t":
			if timestamp != "" || !isTimestamp.MatchString(value) {
				return false
			}
			timestamp = value
		case "v1":
			if !isDigest.MatchString(value) {
				return false
			}
			digests = append(digests, value)
		}
	}
	if timestamp == "" {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	expected := []byte(hex.EncodeToString(mac.Sum(nil)))
	// There are two while a secret is being replaced. Each is compared, in constant time.
	genuine := false
	for _, digest := range digests {
		if hmac.Equal(expected, []byte(digest)) {
			genuine = true
		}
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	age := time.Now().Unix() - seconds
	limit := int64(tolerance / time.Second)
	return genuine && (limit == 0 || (age <= limit && -age <= limit))
}

// recentIds are those of events that were received of late, by this process: each for one window at least, and two at most.
type recentIds struct {
	mutex           sync.Mutex
	since           time.Time
	added, previous map[string]bool
}

// add tells whether it is new.
func (recent *recentIds) add(id string) bool {
	recent.mutex.Lock()
	defer recent.mutex.Unlock()
	now := time.Now()
	if recent.added == nil || now.Sub(recent.since) >= window {
		recent.previous, recent.added, recent.since = recent.added, map[string]bool{}, now
	}
	isNew := !recent.added[id] && !recent.previous[id]
	recent.added[id] = true
	return isNew
}

type event struct {
	EventID string `json:"eventId"`
	Type    string `json:"type"`
}

// handle is where your own work goes. It does not hold up the answer, which Annex waits ten seconds for: an event that must
// survive a crash of this process is stored first, and answered then.
func handle(received event) {
	fmt.Println(received.Type, received.EventID)
}

func answer(response http.ResponseWriter, status int, content any) {
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	_ = json.NewEncoder(response).Encode(content)
}

func refuse(response http.ResponseWriter, status int, message string) {
	answer(response, status, map[string]string{"error": message})
}

func main() {
	secret := os.Getenv("WEBHOOK_SECRET")
	if secret == "" { // An empty secret is one that everybody knows.
		log.Fatal("WEBHOOK_SECRET is not set.")
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	var recent recentIds
	receive := func(response http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodPost {
			refuse(response, http.StatusMethodNotAllowed, "Method not allowed")
			return
		}
		if request.ContentLength < 0 {
			refuse(response, http.StatusLengthRequired, "Length required")
			return
		}
		if request.ContentLength > bodyBytesMax {
			response.Header().Set("Connection", "close")
			refuse(response, http.StatusRequestEntityTooLarge, "Too large")
			return
		}
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // The sender has gone, or is too slow.
		}
		// Nothing of the body is looked at before this.
		if !isGenuine(request.Header.Get("X-Platform-Signature"), body, secret, tolerance) {
			refuse(response, http.StatusUnauthorized, "Invalid signature")
			return
		}
		var received event
		if json.Unmarshal(body, &received) != nil {
			refuse(response, http.StatusInternalServerError, "Internal error")
			return
		}
		if recent.add(received.EventID) {
			go handle(received)
		}
		answer(response, http.StatusOK, map[string]bool{"received": true})
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := http.Server{Handler: http.HandlerFunc(receive), ReadTimeout: 30 * time.Second}
	log.Fatal(server.Serve(listener))
}
