import { ArgumentError, StateError } from '@waybill/core'
import { hasMethods } from '@waybill/core/option'
import type { WakeUp } from '@waybill/outbox'
import { requireArgument } from '../database/required-argument.ts'

/** A client of `pg` that listens, as far as it is used here. */
export interface ListeningClient {
  query(text: string): Promise<unknown>
  on(event: 'notification', run: (message: { readonly channel: string }) => void): unknown
  on(event: 'error', run: (error: Error) => void): unknown
  on(event: 'end', run: () => void): unknown
  release(destroy?: boolean): void
}

/** A pool of `pg`, as far as it is used here. The second signature is there because `pg` also takes a callback. */
export interface NotifyingPool {
  connect: { (): Promise<ListeningClient>; (callback: never): void }
  query(text: string, values: unknown[]): Promise<unknown>
}

/** Options of {@link postgresWakeUp}. */
export interface PostgresWakeUpOptions {
  /**
   * The channel of LISTEN and NOTIFY. Outboxes with tables of their own have channels of their own.
   * @defaultValue `waybill_outbox`
   */
  readonly channel?: string | undefined
}

/**
 * Nodes tell each other of commits by LISTEN and NOTIFY, through a pool of `pg`. One of its connections listens all the
 * time; words are sent by others, each in a statement of its own: inside the business transactions NOTIFY would make
 * these commit one after the other (measured: a quarter to four fifths of their rate is lost).
 *
 * It needs sessions that stay: a pooler in transaction mode between here and the server does not pass words on. Without
 * it rows are found by polling.
 *
 * @throws ArgumentError for a channel that is no plain name.
 */
export function postgresWakeUp(
  pool: NotifyingPool,
  { channel = 'waybill_outbox' }: PostgresWakeUpOptions = {},
): WakeUp {
  requireArgument('postgresWakeUp', pool, hasMethods(pool, 'connect', 'query'), {
    what: 'a Pool of pg',
    hint: 'Pass the pool itself, also where the database is made of another library.',
  })
  // It stands in the text of LISTEN, which takes no parameters.
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(channel))
    throw new ArgumentError(`A channel is a name of lower case letters, digits and _, not ${JSON.stringify(channel)}.`)
  return {
    async announce() {
      await pool.query('SELECT pg_notify($1, $2)', [channel, ''])
    },
    async listen(wake, lost) {
      const client = await pool.connect()
      let isOver = false
      const end = (): void => {
        if (isOver) return
        isOver = true
        // Destroyed, not given back: it still listens, and the pool would hand it to the application.
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
      client.on('end', () => lose(new StateError('The server ended the connection that listened.')))
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
