import { StateError } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'

/** Server-wide session settings that leave transactions open, or close sessions without notice. */
const problems: readonly (readonly [setting: string, value: RegExp, why: string])[] = [
  ['autocommit', /^(0|OFF)$/, 'a statement begins a transaction that is never committed'],
  ['completion_type', /^CHAIN$/, 'each COMMIT begins another transaction that never ends'],
  ['completion_type', /^RELEASE$/, 'each COMMIT closes the session while its pool considers it open'],
]

/**
 * Checks that a session of MySQL or MariaDB ends a transaction only on COMMIT or ROLLBACK, and stays open.
 *
 * @throws StateError with the setting, why it is rejected and what to set
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
