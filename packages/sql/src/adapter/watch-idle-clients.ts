import { StateError } from '@waybill/core'
import type { ErrorEmitter } from './watch-errors.ts'

/** A pool that reports new clients, and idle ones whose connection broke, as pg's does. */
export interface IdleClients {
  on?: {
    (event: 'error', listener: (error: Error) => void): unknown
    (event: 'connect', listener: (client: ErrorEmitter) => void): unknown
  }
  listenerCount?(event: 'error'): number
}

const watched = new WeakSet<IdleClients>()

function ignore(): void {}

/**
 * Handles errors of clients that have no other listener. A new client may break in the same packet that opened it, before
 * the promise of its user resolves: the user's first statement then fails.
 *
 * A server restart breaks idle connections; pg's pool then emits 'error', which without a listener ends the process,
 * although the pool has already dropped the client. If this is the only listener, it emits a process warning.
 */
export function watchIdleClients(pool: IdleClients): void {
  if (pool.on === undefined || watched.has(pool)) return
  watched.add(pool)
  pool.on('connect', (client) => {
    client.on('error', ignore)
    queueMicrotask(() => client.removeListener('error', ignore))
  })
  pool.on('error', (cause) => {
    if ((pool.listenerCount?.('error') ?? 1) > 1) return
    process.emitWarning(
      new StateError('An idle connection to PostgreSQL broke', {
        cause,
        impact: 'The pool dropped it, and opens another when needed.',
        hint: "Listen to the pool's 'error' event to log it yourself.",
      }),
    )
  })
}
