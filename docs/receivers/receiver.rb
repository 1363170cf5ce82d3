# A receiver of webhooks for Ruby 3 or later, with its OpenSSL and WEBrick (`gem install webrick`).
#
#   WEBHOOK_SECRET='…' PORT=8080 ruby receiver.rb
#
# It listens on loopback, behind whatever ends TLS. In Rails or Sinatra, take `genuine?` and give it the raw body:
# `request.raw_post` or `request.body.read`.

require 'json'
require 'openssl'
require 'webrick'

TOLERANCE_SECONDS = 300 # A recorded request can be sent again for this long.
BODY_BYTES_MAX = 1_048_576 # Before the signature is known to be good, whoever sends may send anything.
WINDOW_SECONDS = 120 # How long an event that was received is remembered.

# Whether these bytes were signed with the secret, and, with a tolerance in seconds, of late.
def genuine?(header, body, secret, tolerance: nil)
  timestamp = nil
  digests = []
  header.to_s.split(',').each do |pair|
    key, value = pair.split('=', 2)
    case key
    when 't'
      return false if timestamp || !value&.match?(/\A[0-9]{1,16}\z/)

      timestamp = value
    when 'v1'
      return false unless value&.match?(/\A[0-9a-f]{64}\z/)

      digests << value
    end
  end
  return false unless timestamp

  expected = OpenSSL::HMAC.hexdigest('SHA256', secret, "#{timestamp}.".b + body.b)
  # There are two while a secret is being replaced. Each is compared, in constant time.
  matches = digests.map { |digest| OpenSSL.fixed_length_secure_compare(expected, digest) }
  matches.any? && (tolerance.nil? || (Time.now.to_i - timestamp.to_i).abs <= tolerance)
end

# Ids of events that were received of late, by this process.
class RecentIds
  def initialize
    @added = {}
    @lock = Mutex.new
  end

  # Whether it is new.
  def add?(id)
    @lock.synchronize do
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      # The first is the oldest.
      @added.shift while @added.any? && now - @added.first.last >= WINDOW_SECONDS
      next false if @added.key?(id)

      @added[id] = now
      true
    end
  end
end

# Put your own work here. It does not hold up the answer, which Annex waits ten seconds for: an event that must survive a crash
# of this process is stored first, and answered then.
def handle(event)
  puts "#{event['type']} #{event['eventId']}"
end

SECRET = ENV.fetch('WEBHOOK_SECRET', '')
abort 'WEBHOOK_SECRET is not set.' if SECRET.empty? # An empty secret is one that everybody knows.
RECENT = RecentIds.new

def receive(request)
  return [405, { error: 'Method not allowed' }] if request.request_method != 'POST'
  return [413, { error: 'Too large' }] if request['content-length'].to_i > BODY_BYTES_MAX

  body = request.body.to_s
  # Nothing of the body is looked at before this.
  unless genuine?(request['x-platform-signature'], body, SECRET, tolerance: TOLERANCE_SECONDS)
    return [401, { error: 'Invalid signature' }]
  end

  event = JSON.parse(body)
  Thread.new { handle(event) } if RECENT.add?(event['eventId'])
  [200, { received: true }]
end

$stdout.sync = true
server = WEBrick::HTTPServer.new(
  BindAddress: '127.0.0.1', Port: ENV.fetch('PORT', '8080').to_i, AccessLog: [],
  Logger: WEBrick::Log.new($stderr, WEBrick::Log::WARN)
)
server.mount_proc '/' do |request, response|
  response['Content-Type'] = 'application/json'
  response.status, content = receive(request)
  response.keep_alive = false if response.status == 413 # Or else the rest would be read after all.
  response.body = JSON.generate(content)
rescue StandardError => e
  warn e.full_message
  response.status = 500 # Annex tries again.
  response.body = JSON.generate(error: 'Internal error')
end
trap('TERM') { server.shutdown }
puts "listening on http://127.0.0.1:#{server.listeners.first.addr[1]}"
server.start
