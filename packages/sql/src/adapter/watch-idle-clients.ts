import { StateError } from '@waybill/core'

/** A pool that reports idle clients whose connection broke, as pg's does. */
export interface IdleClients {
  on?(event: 'error', listener: (error: Error) => void): unknown
  listenerCount?(event: 'error'): number
}

const watched = new WeakSet<IdleClients>()

/**
 * Handles errors of idle clients. A server restart breaks idle connections; pg's pool then emits 'error', which without
 * a listener ends the process, although the pool has already dropped the client. If this is the only listener, it emits
 * a process warning.
 */
export function watchIdleClients(pool: IdleClients): void {
  if (pool.on === undefined || watched.has(pool)) return
  watched.add(pool)
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
