import { createMemoryLogger } from '@waybill/core'
import { type SqlConnection } from '@waybill/core/internal'
import { expect, test } from 'vitest'
import type { RowRef } from '../../src/api/outbox-store.ts'
import { RowCheck } from '../../src/relay/row-check.ts'

const connection: SqlConnection = { query: async () => ({ rows: [], changed: 0 }) }

test('I4 a look for the rows of a very large write tells of each of them once', async () => {
  const rows = Array.from({ length: 200_000 }, (_, n) => ({ seq: BigInt(n), eventId: `event-${n}` }))
  const found: RowRef[] = []
  const missing: RowRef[] = []
  const check = new RowCheck<RowRef>({
    database: { connection: (use) => use(connection) },
    // Every thousandth was undone.
    store: {
      findPending: async (_, seqs) =>
        new Map(seqs.filter((seq) => seq % 1_000n !== 0n).map((seq) => [seq, `event-${seq}`])),
    },
    runtime: { logger: createMemoryLogger() },
    found: (some) => {
      for (const row of some) found.push(row)
    },
    notFound: (some) => {
      for (const row of some) missing.push(row)
    },
  })
  check.add(rows)
  await check.idle()
  expect(missing).toEqual(rows.filter(({ seq }) => seq % 1_000n === 0n))
  expect(found.length).toBe(rows.length - missing.length)
})
