import { StateError } from '@waybill/core'

/** A pool that tells of idle clients whose connection broke, as pg's does. */
export interface IdleClients {
  on?(event: 'error', listener: (error: Error) => void): unknown
  listenerCount?(event: 'error'): number
}

const watched = new WeakSet<IdleClients>()

/**
 * A server that restarts breaks idle connections; pg's pool then emits 'error', which ends the process when nobody listens,
 * although the pool has dropped the client already. So somebody listens; where nobody else does, a warning says what was.
 */
export function watchIdleClients(pool: IdleClients): void {
  if (pool.on === undefined || watched.has(pool)) return
  watched.add(pool)
  pool.on('error', (cause) => {
    if ((pool.listenerCount?.('error') ?? 1) > 1) return
    process.emitWarning(
      new StateError('An idle connection to PostgreSQL broke', {
        cause,
        impact: 'The pool has dropped it, and opens another when one is needed.',
        hint: "Listen to the pool's 'error' to have it in your own log.",
      }),
    )
  })
}
