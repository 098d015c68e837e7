import { DatabaseSync } from 'node:sqlite'
import type { SqlConnection } from '@waybill/core/internal'
import { createProjectionStore, fromSqlite, migrate } from '@waybill/sql'
import { expect, test } from 'vitest'

const build = { projection: 'account', number: 1 }
const place = { topic: 'accounts', partition: 0 }

test('a claim never returns a position from before the last write of the former holder', async () => {
  const handle = new DatabaseSync(':memory:')
  const database = fromSqlite(handle)
  await migrate(database, { tables: { outbox: false, inbox: false, projection: 'projection' } })
  const store = createProjectionStore(database)
  await store.transaction((tx) => tx.lockPositions(build, [place]))
  const former = await store.claim(build, 'former', 0)
  expect(former).toMatchObject({ next: 0n, epoch: 1 })

  // The former holder, whose lease has run out, commits and releases between the two statements of the next claim.
  let reads = 0
  const late = createProjectionStore({
    ...database,
    connection: (work) =>
      database.connection((connection) => {
        const query: SqlConnection['query'] = async (text, values) => {
          const answer = await connection.query(text, values)
          if (text.startsWith('SELECT') && ++reads === 1)
            handle.exec('UPDATE projection_position SET next_offset = 7, leased_until = 0')
          return answer
        }
        return work({ query })
      }),
  })
  expect(await late.claim(build, 'next', 60_000)).toBeNull()
  expect(await late.claim(build, 'next', 60_000)).toMatchObject({ next: 7n, epoch: 2 })
  handle.close()
})
