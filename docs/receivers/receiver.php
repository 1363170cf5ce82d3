<?php
/**
 * A receiver of webhooks for PHP 8 or later, with nothing but PHP. To try it:
 *
 *   WEBHOOK_SECRET='…' php -S 127.0.0.1:8080 receiver.php
 *
 * PHP keeps nothing from one request to the next: put `eventId` into your database, in a column that is unique, and answer
 * 200 without any work where it is there already.
 */
declare(strict_types=1);

const TOLERANCE_SECONDS = 300; // A recorded request can be sent again for this long.
const BODY_BYTES_MAX = 1_048_576; // Before the signature is known to be good, whoever sends may send anything.

/** Whether these bytes were signed with the secret, and, with a tolerance in seconds, of late. */
function isGenuine(string $header, string $body, string $secret, ?int $tolerance = null): bool
{
    $timestamp = null;
    $digests = [];
    foreach (explode(',', $header) as $pair) {
        [$key, $value] = explode('=', $pair, 2) + [1 => ''];
        if ($key === 't') {
            if ($timestamp !== null || !preg_match('/\A[0-9]{1,16}\z/', $value)) {
                return false;
            }
            $timestamp = $value;
        } elseif ($key === 'v1') {
            if (!preg_match('/\A[0-9a-f]{64}\z/', $value)) {
                return false;
            }
            $digests[] = $value;
        }
    }
    if ($timestamp === null) {
        return false;
    }
    $expected = hash_hmac('sha256', "$timestamp.$body", $secret);
    // There are two while a secret is being replaced. Each is compared, in constant time.
    $genuine = false;
    foreach ($digests as $digest) {
        $genuine = hash_equals($expected, $digest) || $genuine;
    }
    return $genuine && ($tolerance === null || abs(time() - (int) $timestamp) <= $tolerance);
}

/** Put your own work here, or into a queue: Annex waits ten seconds for the answer. */
function handle(array $event): void
{
    error_log("{$event['type']} {$event['eventId']}");
}

/** @return array{int, array} status and content of the answer */
function receive(): array
{
    $secret = (string) getenv('WEBHOOK_SECRET');
    if ($secret === '') { // An empty secret is one that everybody knows.
        error_log('WEBHOOK_SECRET is not set.');
        return [500, ['error' => 'Internal error']];
    }
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        return [405, ['error' => 'Method not allowed']];
    }
    // The raw body: $_POST is what PHP has made of it.
    $body = (string) file_get_contents('php://input', length: BODY_BYTES_MAX + 1);
    if (strlen($body) > BODY_BYTES_MAX) {
        return [413, ['error' => 'Too large']];
    }
    // Nothing of the body is looked at before this.
    if (!isGenuine($_SERVER['HTTP_X_PLATFORM_SIGNATURE'] ?? '', $body, $secret, TOLERANCE_SECONDS)) {
        return [401, ['error' => 'Invalid signature']];
    }
    handle(json_decode($body, true, flags: JSON_THROW_ON_ERROR));
    return [200, ['received' => true]];
}

try {
    [$status, $content] = receive();
} catch (Throwable $fault) {
    error_log((string) $fault);
    [$status, $content] = [500, ['error' => 'Internal error']]; // Annex tries again.
}
http_response_code($status);
header('Content-Type: application/json');
echo json_encode($content);
