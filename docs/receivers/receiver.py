"""A receiver of webhooks for Python 3.8 or later, with nothing but the standard library.

    WEBHOOK_SECRET='…' PORT=8080 python3 receiver.py

It listens on loopback, behind whatever ends TLS. In a framework, take `is_genuine` and give it the raw body:
`request.get_data()` in Flask, `request.body` in Django, `await request.body()` in FastAPI.
"""

import hashlib
import hmac
import json
import os
import re
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOLERANCE_SECONDS = 300  # A recorded request can be sent again for this long.
BODY_BYTES_MAX = 1_048_576  # Before the signature is known to be good, whoever sends may send anything.
WINDOW_SECONDS = 120  # How long an event that was received is remembered.


def is_genuine(header, body, secret, tolerance=None):
    """Whether these bytes were signed with the secret, and, with a tolerance in seconds, of late."""
    timestamp, digests = None, []
    for pair in (header or "").split(","):
        key, _, value = pair.partition("=")
        if key == "t":
            if timestamp is not None or not re.fullmatch("[0-9]{1,16}", value):
                return False
            timestamp = value
        elif key == "v1":
            if not re.fullmatch("[0-9a-f]{64}", value):
                return False
            digests.append(value)
    if timestamp is None:
        return False
    signed = timestamp.encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    # There are two while a secret is being replaced. Each is compared, in constant time.
    matches = [hmac.compare_digest(expected, digest) for digest in digests]
    return any(matches) and (tolerance is None or abs(time.time() - int(timestamp)) <= tolerance)


class RecentIds:
    """Ids of events that were received of late, by this process."""

    def __init__(self):
        self._added = {}
        self._lock = threading.Lock()

    def add(self, event_id):
        """Whether it is new."""
        with self._lock:
            now = time.monotonic()
            # The first is the oldest.
            while self._added and now - next(iter(self._added.values())) >= WINDOW_SECONDS:
                del self._added[next(iter(self._added))]
            is_new = event_id not in self._added
            self._added.setdefault(event_id, now)
            return is_new


def handle(event):
    """Put your own work here. It runs after the answer, which Annex waits ten seconds for: an event that must survive a
    crash of this process is stored first, and answered then."""
    print(event["type"], event["eventId"], flush=True)


class Receiver(BaseHTTPRequestHandler):
    recent = RecentIds()
    timeout = 30  # A sender that says nothing more does not keep its thread.

    def receive(self):
        """Status and content of the answer, and the event where it is to be handled."""
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,16}", length):
            return 411, {"error": "Length required"}, None
        if int(length) > BODY_BYTES_MAX:
            return 413, {"error": "Too large"}, None
        body = self.rfile.read(int(length))
        header = self.headers.get("X-Platform-Signature")
        # Nothing of the body is looked at before this.
        if not is_genuine(header, body, SECRET, TOLERANCE_SECONDS):
            return 401, {"error": "Invalid signature"}, None
        event = json.loads(body)
        is_new = self.recent.add(event["eventId"])
        return 200, {"received": True}, event if is_new else None

    def do_POST(self):
        try:
            status, content, event = self.receive()
        except Exception:
            traceback.print_exc()
            status, content, event = 500, {"error": "Internal error"}, None  # Annex tries again.
        self.answer(status, content)
        if event is not None:
            handle(event)

    def refuse(self):
        self.answer(405, {"error": "Method not allowed"})

    do_GET = do_PUT = do_PATCH = do_DELETE = refuse

    def answer(self, status, content):
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


if __name__ == "__main__":
    SECRET = os.environ.get("WEBHOOK_SECRET", "")
    if SECRET == "":  # An empty secret is one that everybody knows.
        sys.exit("WEBHOOK_SECRET is not set.")
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8080"))), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
