import { StateError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'

/** What may be set for all sessions of a server, and leaves transactions open or sessions closed behind our back. */
const problems: readonly (readonly [setting: string, value: RegExp, why: string])[] = [
  ['autocommit', /^(0|OFF)$/, 'a statement begins a transaction that nobody commits'],
  ['completion_type', /^CHAIN$/, 'each COMMIT begins another transaction, which nobody ends'],
  ['completion_type', /^RELEASE$/, 'each COMMIT ends the session, which its pool takes for a good one'],
]

/**
 * Sees that a session of MySQL or MariaDB ends its transactions as it is told to, and only then.
 *
 * @throws StateError with the setting, why it is refused and what to set
 */
export async function checkMysqlSession(connection: SqlConnection): Promise<void> {
  const { rows } = await connection.query(
    'SELECT @@autocommit AS `autocommit`, @@completion_type AS `completion_type`',
    [],
  )
  const [session = {}] = rows
  for (const [setting, value, why] of problems)
    if (value.test(String(session[setting])))
      throw new StateError(`Sessions of this database have ${setting} = ${String(session[setting])}: ${why}.`, {
        impact: 'Nothing was done.',
        hint:
          'Run SET autocommit = 1, completion_type = NO_CHAIN on each connection that the pool opens, or set them in the ' +
          "server's configuration.",
      })
}
