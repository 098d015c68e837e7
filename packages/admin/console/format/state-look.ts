/** How states look: a color, a glyph and the word itself. Color is never alone. */

/** The five colors of states. */
export type Tone = 'ok' | 'warn' | 'bad' | 'calm' | 'off'

/** A color and a glyph. */
export interface Look {
  readonly tone: Tone
  readonly glyph: string
}

const looks: Readonly<Record<string, Look>> = {
  RUNNING: { tone: 'ok', glyph: '●' },
  CLOSED: { tone: 'ok', glyph: '●' },
  UP: { tone: 'ok', glyph: '●' },
  DONE: { tone: 'ok', glyph: '●' },
  SUCCEEDED: { tone: 'ok', glyph: '●' },
  APPLIED: { tone: 'ok', glyph: '●' },
  VALID: { tone: 'ok', glyph: '●' },
  HEALTHY: { tone: 'ok', glyph: '●' },
  STABLE: { tone: 'ok', glyph: '●' },
  LIVE: { tone: 'ok', glyph: '●' },
  READY: { tone: 'ok', glyph: '●' },
  DEGRADED: { tone: 'warn', glyph: '▲' },
  HALF_OPEN: { tone: 'warn', glyph: '▲' },
  PARTIAL: { tone: 'warn', glyph: '▲' },
  STALE: { tone: 'warn', glyph: '▲' },
  WARNING: { tone: 'warn', glyph: '▲' },
  NO_ANSWER: { tone: 'warn', glyph: '▲' },
  ASKED: { tone: 'warn', glyph: '?' },
  UNKNOWN: { tone: 'warn', glyph: '?' },
  DOWN: { tone: 'bad', glyph: '✖' },
  OPEN_BREAKER: { tone: 'bad', glyph: '⊘' },
  FAILED: { tone: 'bad', glyph: '✖' },
  FAILED_AGAIN: { tone: 'bad', glyph: '✖' },
  DEAD: { tone: 'bad', glyph: '✖' },
  LOST: { tone: 'bad', glyph: '✖' },
  CRITICAL: { tone: 'bad', glyph: '✖' },
  REFUSED: { tone: 'bad', glyph: '⊘' },
  INVALID: { tone: 'bad', glyph: '✖' },
  OPEN: { tone: 'bad', glyph: '○' },
  CATCHING_UP: { tone: 'calm', glyph: '▶' },
  VERIFYING: { tone: 'calm', glyph: '▶' },
  PAUSED: { tone: 'calm', glyph: '‖' },
  PLANNED: { tone: 'calm', glyph: '◇' },
  RUNNING_OPERATION: { tone: 'calm', glyph: '▶' },
  REPLAYED: { tone: 'calm', glyph: '↻' },
  RETRY: { tone: 'calm', glyph: '↻' },
  CREATED: { tone: 'off', glyph: '○' },
  STOPPED: { tone: 'off', glyph: '○' },
  DESTROYED: { tone: 'off', glyph: '○' },
  RETIRED: { tone: 'off', glyph: '○' },
  RESOLVED: { tone: 'off', glyph: '✓' },
  RELEASED: { tone: 'off', glyph: '✓' },
  IGNORED: { tone: 'off', glyph: '○' },
  CANCELLED: { tone: 'off', glyph: '○' },
  GONE: { tone: 'off', glyph: '○' },
}

const unknown: Look = { tone: 'off', glyph: '○' }

/** Returns the look of a state. One of a newer server is shown by its name. @param of - BREAKER and OPERATION have words of others */
export function lookOf(state: string, of?: 'BREAKER' | 'OPERATION'): Look {
  const key =
    (of === 'BREAKER' && state === 'OPEN') || (of === 'OPERATION' && state === 'RUNNING') ? `${state}_${of}` : state
  return (Object.hasOwn(looks, key) ? looks[key] : undefined) ?? unknown
}
