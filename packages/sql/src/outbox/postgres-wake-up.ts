import { ArgumentError, StateError } from '@waybill/core'
import { hasMethods } from '@waybill/core/option'
import type { WakeUp } from '@waybill/outbox'
import { keepOneOf, type PoolSize, requireRoom } from '../database/pool-room.ts'
import { requireArgument } from '../database/required-argument.ts'

/** The keeper of a connection in the error about a small pool. */
const listener = 'postgresWakeUp'

/** The used part of a `pg` client that listens. */
export interface ListeningClient {
  query(text: string): Promise<unknown>
  on(event: 'notification', run: (message: { readonly channel: string }) => void): unknown
  on(event: 'error', run: (error: Error) => void): unknown
  on(event: 'end', run: () => void): unknown
  release(destroy?: boolean): void
}

/** The used part of a `pg` pool. The second signature exists because `pg` also accepts a callback. */
export interface NotifyingPool {
  connect: { (): Promise<ListeningClient>; (callback: never): void }
  query(text: string, values: unknown[]): Promise<unknown>
  readonly options?: { readonly max?: unknown } | undefined
}

/** Options of {@link postgresWakeUp}. */
export interface PostgresWakeUpOptions {
  /**
   * The channel of LISTEN and NOTIFY. Use one channel per outbox table.
   * @defaultValue `waybill_outbox`
   */
  readonly channel?: string | undefined
}

/**
 * Creates a wake-up that signals commits between nodes by LISTEN and NOTIFY, through a pool of `pg`. One connection
 * listens permanently; others send the signals, each in its own statement. Inside the business transactions NOTIFY
 * would serialize their commits (measured: a loss of a quarter to four fifths of their rate).
 *
 * It needs persistent sessions: a pooler in transaction mode does not forward notifications. Without them polling finds
 * the rows.
 *
 * @throws ArgumentError for a channel that is not a plain name, StateError for a pool of one connection.
 */
export function postgresWakeUp(
  pool: NotifyingPool,
  { channel = 'waybill_outbox' }: PostgresWakeUpOptions = {},
): WakeUp {
  requireArgument('postgresWakeUp', pool, hasMethods(pool, 'connect', 'query'), {
    what: 'a Pool of pg',
    hint: 'Pass the pool itself, even if the database uses another library.',
  })
  // It is part of the text of LISTEN, which takes no parameters.
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(channel))
    throw new ArgumentError(
      `A channel must be a name of lowercase letters, digits and _, got ${JSON.stringify(channel)}.`,
    )
  const size: PoolSize = { pool, max: pool.options?.max }
  requireRoom(size, listener)
  return {
    requireConnection: () => requireRoom(size, listener),
    async announce() {
      await pool.query('SELECT pg_notify($1, $2)', [channel, ''])
    },
    async listen(wake, lost) {
      const room = keepOneOf(size, listener)
      const client = await pool.connect().catch((error: unknown) => {
        room[Symbol.dispose]()
        throw error
      })
      let isOver = false
      const end = (): void => {
        if (isOver) return
        isOver = true
        room[Symbol.dispose]()
        // Destroyed, not released: it still listens, and the pool would pass it to the application.
        client.release(true)
      }
      const lose = (error: Error): void => {
        if (isOver) return
        end()
        lost(error)
      }
      client.on('notification', (message) => {
        if (!isOver && message.channel === channel) wake()
      })
      client.on('error', lose)
      client.on('end', () => lose(new StateError('The server closed the listening connection.')))
      try {
        await client.query(`LISTEN ${channel}`)
      } catch (error) {
        end()
        throw error
      }
      return { [Symbol.asyncDispose]: async () => end() }
    },
  }
}
