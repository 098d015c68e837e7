/**
 * When a dead letter may be replayed by the schedule: `cooldownMs` after it died. Its time comes from whoever wrote it: one
 * from a future that no clock can be ahead by counts as past, or it would hold up all behind it for as long as it likes.
 */
export function replayableAt(deadAtMs: number, cooldownMs: number, nowMs: number): number {
  return deadAtMs > nowMs + cooldownMs ? nowMs : deadAtMs + cooldownMs
}
