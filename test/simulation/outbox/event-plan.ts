/** Events, the transactions that write them, and the behavior of listeners. */

import type { Draw } from '../draw.ts'
import type { Mode } from './mode.ts'

/**
 * One call of a listener. OK succeeds, FAIL rejects, POISON rejects in a way that no retry can fix, LATER asks for more
 * time, STUCK ends when its signal is aborted and otherwise late, DEAF ends late and ignores its signal.
 */
export interface CallPlan {
  readonly kind: 'OK' | 'FAIL' | 'POISON' | 'LATER' | 'STUCK' | 'DEAF'
  readonly takesMs: number
}

export interface EventPlan {
  readonly id: string
  /** Null: it is unordered. */
  readonly key: string | null
  /** True when no listener is registered for it. */
  readonly isLost: boolean
  /** Its row cannot be read back. */
  readonly isBroken: boolean
  /** Earliest delivery, in milliseconds after it is written. */
  readonly delayMs: number | null
  /** Plans of the first calls, in order; later calls succeed. */
  readonly calls: readonly CallPlan[]
}

/** SEEN: by its handle. AMBIENT: by its async context. FOREIGN: opened and ended by the application itself. */
export type TransactionKind = 'SEEN' | 'AMBIENT' | 'FOREIGN'

export interface TransactionPlan {
  readonly kind: TransactionKind
  readonly atMs: number
  /** The node that writes it, if it runs. */
  readonly node: number
  readonly events: readonly EventPlan[]
  /** Number of its last events written in a savepoint that is rolled back. */
  readonly undone: number
  /** How long it stays open after its rows are inserted. */
  readonly holdMs: number
  readonly isRolledBack: boolean
  /** How long the writer waits for its first event to be published. Null: it does not wait. */
  readonly publishedWithinMs: number | null
}

export interface EventRange {
  readonly mode: Mode
  readonly isCalm: boolean
  readonly nodes: number
  readonly chaosMs: number
}

/** Draws transactions with at least sixty events in all. */
export function drawTransactions(draw: Draw, range: EventRange): TransactionPlan[] {
  const keys = Array.from({ length: draw.pick([2, 5, 20]) }, (_, index) => `key-${index}`)
  const mood = drawMood(draw, range)
  const wanted = draw.integer(60, 110)
  const transactions: TransactionPlan[] = []
  for (let written = 0; written < wanted; ) {
    const count = draw.pick([1, 1, 1, 2, 3, 6])
    const events = Array.from({ length: count }, (_, index) =>
      drawEvent(draw, `event-${written + index}`, draw.chance(0.15) ? null : draw.pick(keys), mood),
    )
    written += count
    transactions.push({
      kind: draw.pick(['SEEN', 'SEEN', 'SEEN', 'AMBIENT', 'FOREIGN'] as const),
      atMs: draw.ms(0, range.chaosMs),
      node: draw.integer(0, range.nodes - 1),
      events,
      undone: draw.chance(0.1) ? draw.integer(1, count) : 0,
      holdMs: draw.chance(0.15) ? draw.msOfMagnitude(50, mood.longestTransactionMs) : draw.ms(0, 20),
      isRolledBack: draw.chance(0.12),
      publishedWithinMs: draw.chance(0.2) ? draw.msOfMagnitude(50, 20_000) : null,
    })
  }
  return transactions.toSorted((one, other) => one.atMs - other.atMs)
}

interface Mood {
  readonly failing: number
  readonly slow: number
  readonly delayed: number
  readonly odd: number
  readonly slowestMs: number
  readonly longestTransactionMs: number
  readonly kinds: readonly CallPlan['kind'][]
}

function drawMood(draw: Draw, { mode, isCalm }: EventRange): Mood {
  return {
    failing: draw.pick([0, 0.1, 0.3]),
    slow: draw.pick([0, 0.05, 0.2]),
    // In `ordered`, delayed events are overtaken by specification, so none is delayed here.
    delayed: mode === 'ordered' ? 0 : draw.pick([0, 0.1]),
    odd: draw.pick([0, 0, 0.04]),
    slowestMs: isCalm ? 400 : draw.msOfMagnitude(200, 8_000),
    longestTransactionMs: draw.msOfMagnitude(100, 3_000),
    kinds: mode === 'ordered' ? ['FAIL', 'POISON', 'DEAF'] : ['FAIL', 'FAIL', 'FAIL', 'LATER', 'POISON', 'DEAF'],
  }
}

function drawEvent(draw: Draw, id: string, key: string | null, mood: Mood): EventPlan {
  return {
    id,
    key,
    isLost: draw.chance(mood.odd),
    isBroken: draw.chance(mood.odd),
    delayMs: draw.chance(mood.delayed) ? draw.msOfMagnitude(20, 3_000) : null,
    calls: drawCalls(draw, mood),
  }
}

function drawCalls(draw: Draw, { failing, slow, slowestMs, kinds }: Mood): CallPlan[] {
  if (draw.chance(slow)) return [{ kind: draw.pick(['STUCK', 'DEAF', 'OK']), takesMs: draw.ms(100, slowestMs) }]
  if (!draw.chance(failing)) return [{ kind: 'OK', takesMs: draw.ms(0, 30) }]
  return Array.from({ length: draw.pick([1, 1, 2, 3, 8]) }, () => ({
    kind: draw.pick(kinds),
    takesMs: draw.chance(0.8) ? draw.ms(0, 30) : draw.ms(30, slowestMs / 2),
  }))
}
