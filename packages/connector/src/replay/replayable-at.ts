/**
 * Returns the time from which the schedule may replay a dead letter: `cooldownMs` after its timestamp. A timestamp
 * further ahead than the cooldown counts as due now: the writer sets it, and a future timestamp must not block the
 * queue.
 */
export function replayableAt(deadAtMs: number, cooldownMs: number, nowMs: number): number {
  return deadAtMs > nowMs + cooldownMs ? nowMs : deadAtMs + cooldownMs
}
